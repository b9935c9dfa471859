/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The functions of glibc that libjansson.a calls and that musl doesn't have. Distributions compile it with
 * _FORTIFY_SOURCE: glibc's headers then replace a call by a checking variant with the size of the destination. Only an
 * nmctl that is linked with musl has this file.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only libjansson.a calls these functions, so no header declares them. */
int __snprintf_chk(char *s, size_t n, int flag, size_t size, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
int __vsnprintf_chk(char *s, size_t n, int flag, size_t size, const char *format, va_list ap)
    __attribute__((format(printf, 5, 0)));
char *__strncpy_chk(char *to, const char *from, size_t n, size_t size);

int __vsnprintf_chk(char *s, size_t n, int flag, size_t size, const char *format, va_list ap)
{
    (void)flag; /* makes glibc refuse %n in writable memory; musl has no such check */
    if (n > size)
        abort();
    return vsnprintf(s, n, format, ap);
}

int __snprintf_chk(char *s, size_t n, int flag, size_t size, const char *format, ...)
{
    va_list ap;
    int r;

    va_start(ap, format);
    r = __vsnprintf_chk(s, n, flag, size, format, ap);
    va_end(ap);
    return r;
}

char *__strncpy_chk(char *to, const char *from, size_t n, size_t size)
{
    if (n > size)
        abort();
    return strncpy(to, from, n);
}
