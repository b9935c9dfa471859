/* SPDX-License-Identifier: Apache-2.0 */

/* See diag.h. The name printed is the one by which the program was called, which differs from its own for a symlink. */

#include "util/diag.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static void print_line(const char *format, va_list ap)
{
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
}

void nm_diag(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    print_line(format, ap);
    va_end(ap);
}

int nm_usage_error(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    print_line(format, ap);
    va_end(ap);
    return -EINVAL;
}
