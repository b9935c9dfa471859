/* SPDX-License-Identifier: Apache-2.0 */

/* See exception.h. */

#include "rpc/hadoop/exception.h"

#include <stdarg.h>

#include "util/utf8.h"

/* Copies text so that it can be shown, and sent as a protobuf string, which Java accepts only as UTF-8. */
static void clean_copy(char *to, size_t size, const char *from, const char *end)
{
    char *last = to + size - 1;

    while (from < end) {
        size_t n = nm_utf8_size(from);

        if (NM_MAX(n, (size_t)1) > (size_t)(last - to))
            break;
        if (n == 0 || n > (size_t)(end - from)) {
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

/* Stores a received exception. Removes the stack trace that Java appends to the message: "\n\tat org.apache...". */
void nm_exception_receive(struct nm_exception *e, int detail, const char *class_name, const char *message)
{
    const char *trace = message ? strstr(message, "\n\tat ") : NULL;

    class_name = class_name ?: "";
    message = message ?: "";
    e->detail = detail;
    clean_copy(e->class_name, sizeof e->class_name, class_name, class_name + strlen(class_name));
    clean_copy(e->message, sizeof e->message, message, trace ?: message + strlen(message));
}
