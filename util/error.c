/* SPDX-License-Identifier: Apache-2.0 */

/* See error.h. */

#include "util/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

int nm_fail(char **ret_message, int r, const char *format, ...)
{
    va_list ap;
    char *text;
    int n;

    assert(r < 0 && format);
    if (!ret_message)
        return r;
    va_start(ap, format);
    n = vasprintf(&text, format, ap);
    va_end(ap);
    *ret_message = n < 0 ? NULL : text;
    return r;
}
