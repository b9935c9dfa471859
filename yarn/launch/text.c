/* SPDX-License-Identifier: Apache-2.0 */

/* See text.h. */

#include "yarn/launch/text.h"

#include <stdarg.h>

char *nm_yarn_print(struct nm_arena *arena, const char *format, ...)
{
    va_list ap;
    char *text = NULL;
    int n;

    va_start(ap, format);
    n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (n >= 0)
        text = nm_arena_alloc(arena, (size_t)n + 1);
    if (!text)
        return NULL;
    va_start(ap, format);
    (void)vsnprintf(text, (size_t)n + 1, format, ap);
    va_end(ap);
    return text;
}

char *nm_yarn_base64(struct nm_arena *arena, struct nm_bytes bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = nm_arena_alloc(arena, (bytes.size + 2) / 3 * 4 + 1), *out = text;

    for (size_t i = 0; text && i < bytes.size; i += 3) {
        const size_t n = NM_MIN(bytes.size - i, (size_t)3);
        const uint32_t v = (uint32_t)bytes.data[i] << 16 | (n > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0) |
                           (n > 2 ? (uint32_t)bytes.data[i + 2] : 0);

        *out++ = digits[v >> 18];
        *out++ = digits[v >> 12 & 63];
        *out++ = n > 1 ? digits[v >> 6 & 63] : '=';
        *out++ = n > 2 ? digits[v & 63] : '=';
    }
    if (text)
        *out = '\0';
    return text;
}
