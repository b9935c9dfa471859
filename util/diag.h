/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Diagnostics of a command line program: lines on stderr that begin with the program's name. */

#include "util/macros.h"

nm_printf(1, 2) void nm_diag(const char *format, ...);

/* Prints the message and returns -EINVAL, so that an option parser can return the result. */
nm_printf(1, 2) int nm_usage_error(const char *format, ...);
