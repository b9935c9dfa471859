/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>

#include "shuffle/options.h"

/* Serves until `in` ends; first writes {"listening": PORT} to `out`. Returns 0 or -errno, after the error was printed
 * on stderr. */
int nm_shuffle_run(const struct nm_shuffle_options *o, FILE *in, FILE *out);
