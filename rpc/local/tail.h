/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How far back the last lines are looked for, so that a huge file can't hold up the event loop. */
#define NM_TAIL_MAX_BYTES (INT64_C(4) << 20)

/* Offset between `begin` and `end` of a file at which its last *lines lines begin, which are taken off *lines as they
 * are found; a last line without its newline counts. followed: more comes behind `end`, in another file, so that a
 * newline there begins a line. Never more than NM_TAIL_MAX_BYTES before the end. Where reading fails, `end` itself. */
off_t nm_tail_offset(int fd, off_t begin, off_t end, bool followed, uint64_t *lines);
