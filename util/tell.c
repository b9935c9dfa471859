/* SPDX-License-Identifier: Apache-2.0 */

/* See tell.h. The name is the one that the program was called by: a link to it may have another. */

#include "util/tell.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static void tell(const char *format, va_list ap)
{
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
}

void nm_tell(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    tell(format, ap);
    va_end(ap);
}

int nm_complain(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    tell(format, ap);
    va_end(ap);
    return -EINVAL;
}
