/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* asprintf() and vasprintf() with a defined result on failure. The C library leaves the string undefined. */

#include <stdarg.h>

#include "util/macros.h"

/* Returns the formatted text, which the caller frees, or NULL if memory ran out. */
nm_printf(1, 2) char *nm_strdup_printf(const char *format, ...);
nm_printf(1, 0) char *nm_strdup_vprintf(const char *format, va_list ap);
