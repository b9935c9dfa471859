/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* asprintf() and vasprintf() with one result: C leaves the string undefined where they fail. */

#include <stdarg.h>

#include "util/macros.h"

/* Returns the formatted text, which the caller frees. NULL: no memory. */
nm_printf(1, 2) char *nm_strdup_printf(const char *format, ...);
nm_printf(1, 0) char *nm_strdup_vprintf(const char *format, va_list ap);
