/* SPDX-License-Identifier: Apache-2.0 */

/* See text.h. */

#include "yarn/launch/text.h"

#include <stdarg.h>

#include <nettle/base64.h>

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
    const size_t n = BASE64_ENCODE_RAW_LENGTH(bytes.size);
    char *text = nm_arena_alloc(arena, n + 1);

    if (!text)
        return NULL;
    if (bytes.size > 0) /* protobuf-c represents empty data by NULL */
        base64_encode_raw(text, bytes.size, bytes.data);
    text[n] = '\0';
    return text;
}
