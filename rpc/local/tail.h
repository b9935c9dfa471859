/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* How far back the last lines are looked for, so that a huge file can't hold up the event loop. */
#define NM_TAIL_MAX_BYTES (INT64_C(4) << 20)

/* Offset in the first `size` bytes of a file at which its last n lines begin; a last line without
 * its newline counts. Never more than NM_TAIL_MAX_BYTES before the end. Where reading fails, size
 * itself. */
off_t nm_tail_offset(int fd, off_t size, uint64_t n);
