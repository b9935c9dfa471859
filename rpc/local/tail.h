/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Maximum distance from the end of the file in which the last lines are searched, so that a huge file can't block the
 * event loop. */
#define NM_TAIL_MAX_BYTES (INT64_C(4) << 20)

/* Returns the offset between `begin` and `end` at which the last *lines lines of the file begin, and subtracts the
 * lines found from *lines. A last line without newline counts. followed: another file continues after `end`, so a
 * newline just before `end` begins a line. Searches at most NM_TAIL_MAX_BYTES before the end. Returns `end` if reading
 * fails. */
off_t nm_tail_offset(int fd, off_t begin, off_t end, bool followed, uint64_t *lines);
