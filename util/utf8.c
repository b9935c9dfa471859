/* SPDX-License-Identifier: Apache-2.0 */

/* See utf8.h. Implements the table of well-formed UTF-8 in the Unicode standard, section 3.9. */

#include "util/utf8.h"

#include <stdint.h>

size_t nm_utf8_size(const char *s)
{
    const uint8_t *b = (const uint8_t *)s;
    size_t n = b[0] < 0x80 ? 1 : b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : b[0] < 0xf5 ? 4 : 0;

    for (size_t i = 1; i < n; i++)
        if ((b[i] & 0xc0) != 0x80) /* this check also rejects the NUL at the end */
            return 0;
    if ((b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xed && b[1] > 0x9f) || (b[0] == 0xf0 && b[1] < 0x90) ||
        (b[0] == 0xf4 && b[1] > 0x8f))
        return 0;
    return n;
}

size_t nm_utf8_prefix(const char *s)
{
    size_t size = 0, n;

    while (s[size] && (n = nm_utf8_size(s + size)) > 0)
        size += n;
    return size;
}
