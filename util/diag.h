/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a program of the command line says beside its result: lines on stderr that begin with its name. */

#include "util/macros.h"

nm_printf(1, 2) void nm_diag(const char *format, ...);

/* -EINVAL, for who refuses an option with it. */
nm_printf(1, 2) int nm_usage_error(const char *format, ...);
