/* SPDX-License-Identifier: Apache-2.0 */

/* See error.h. */

#include "util/error.h"

#include <assert.h>
#include <stdarg.h>

#include "util/printf.h"

int nm_fail(char **ret_message, int r, const char *format, ...)
{
    va_list ap;

    assert(r < 0 && format);
    if (!ret_message)
        return r;
    va_start(ap, format);
    *ret_message = nm_strdup_vprintf(format, ap);
    va_end(ap);
    return r;
}
