/* SPDX-License-Identifier: Apache-2.0 */

/* See exception.h. */

#include "rpc/hadoop/exception.h"

#include <stdarg.h>

/* Bytes of the UTF-8 character at s, 0: it isn't one. Overlong forms and surrogates aren't. */
static unsigned character(const char *s)
{
    const uint8_t *b = (const uint8_t *)s;
    unsigned n = b[0] < 0x80 ? 1 : b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : b[0] < 0xf5 ? 4 : 0;

    for (unsigned i = 1; i < n; i++)
        if ((b[i] & 0xc0) != 0x80)
            return 0;
    if ((b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xed && b[1] > 0x9f) || (b[0] == 0xf0 && b[1] < 0x90) ||
        (b[0] == 0xf4 && b[1] > 0x8f))
        return 0;
    return n;
}

/* So that it can be shown, and sent on as a protobuf string, which Java takes only as UTF-8. */
static void clean_copy(char *to, size_t size, const char *from, const char *end)
{
    char *last = to + size - 1;

    while (from < end) {
        unsigned n = character(from);

        if ((ptrdiff_t)NM_MAX(n, 1u) > last - to)
            break;
        if (n == 0 || n > end - from) {
            *to++ = '?';
            from++;
        } else if (n == 1) {
            *to++ = (char)((uint8_t)*from < ' ' || *from == 0x7f ? ' ' : *from);
            from++;
        } else {
            to = mempcpy(to, from, n);
            from += n;
        }
    }
    *to = '\0';
}

void nm_exception_set(struct nm_exception *e, int detail, const char *class_name, const char *format, ...)
{
    char message[2 * sizeof e->message];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    nm_exception_receive(e, detail, class_name, message);
}

/* Java's printed stack follows the message: "\n\tat org.apache...". */
void nm_exception_receive(struct nm_exception *e, int detail, const char *class_name, const char *message)
{
    const char *trace = message ? strstr(message, "\n\tat ") : NULL;

    class_name = class_name ?: "";
    message = message ?: "";
    e->detail = detail;
    clean_copy(e->class_name, sizeof e->class_name, class_name, class_name + strlen(class_name));
    clean_copy(e->message, sizeof e->message, message, trace ?: message + strlen(message));
}
