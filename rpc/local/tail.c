/* SPDX-License-Identifier: Apache-2.0 */

/* See tail.h. Reads blocks backwards from the end and counts newlines. */

#include "rpc/local/tail.h"

#include <assert.h>

#include "util/macros.h"

#define BLOCK 32768

off_t nm_tail_offset(int fd, off_t begin, off_t end, bool followed, uint64_t *lines)
{
    off_t floor = end - begin > NM_TAIL_MAX_BYTES ? end - (off_t)NM_TAIL_MAX_BYTES : begin, at = end;
    char buf[BLOCK];

    assert(begin >= 0 && begin <= end);
    if (*lines == 0)
        return end;
    while (at > floor) {
        off_t from = NM_MAX(floor, at - BLOCK);
        ssize_t got = pread(fd, buf, (size_t)(at - from), from);
        /* the file was truncated meanwhile, so its content is no longer the tail */
        if (got != at - from)
            return end;
        for (ssize_t i = got - 1; i >= 0; i--) {
            /* A newline at the very end ends the last line and doesn't begin another. */
            if (buf[i] == '\n' && (followed || from + i + 1 < end) && --*lines == 0)
                return from + i + 1;
        }
        at = from;
    }
    if (floor > begin) /* the search limit was reached */
        *lines = 0;
    return floor;
}
