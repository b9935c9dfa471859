/* SPDX-License-Identifier: Apache-2.0 */

/* See printf.h. */

#include "util/printf.h"

#include <stdio.h>

char *nm_strdup_vprintf(const char *format, va_list ap)
{
    char *text;

    return vasprintf(&text, format, ap) < 0 ? NULL : text;
}

char *nm_strdup_printf(const char *format, ...)
{
    char *text;
    va_list ap;

    va_start(ap, format);
    text = nm_strdup_vprintf(format, ap);
    va_end(ap);
    return text;
}
