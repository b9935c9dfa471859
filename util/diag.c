/* SPDX-License-Identifier: Apache-2.0 */

/* See diag.h. The printed name is the one by which the program was called. For a symlink it differs from the program's
 * own name. */

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
