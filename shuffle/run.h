/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>

#include "shuffle/options.h"

/* Serves until `in` ends, and says on `out` first, as {"listening": PORT}, that it does. 0 or -errno; what was wrong is
 * on stderr. */
int nm_shuffle_run(const struct nm_shuffle_options *o, FILE *in, FILE *out);
