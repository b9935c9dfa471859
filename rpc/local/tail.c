/* SPDX-License-Identifier: Apache-2.0 */

/* See tail.h: blocks are read backwards from the end and newlines counted. */

#include "rpc/local/tail.h"

#include "util/macros.h"

#define BLOCK 32768

off_t nm_tail_offset(int fd, off_t size, uint64_t n)
{
    off_t floor = size > NM_TAIL_MAX_BYTES ? size - (off_t)NM_TAIL_MAX_BYTES : 0;
    off_t end = size;
    char buf[BLOCK];

    if (n == 0)
        return size;
    while (end > floor) {
        off_t from = NM_MAX(floor, end - BLOCK);
        ssize_t got = pread(fd, buf, (size_t)(end - from), from);
        /* cut short meanwhile: what is there now is no tail of anything */
        if (got != end - from)
            return size;
        for (ssize_t i = got - 1; i >= 0; i--) {
            /* The newline at the very end ends the last line and begins none. */
            if (buf[i] == '\n' && from + i + 1 < size && --n == 0)
                return from + i + 1;
        }
        end = from;
    }
    return floor;
}
