/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A run: take the locks, read the memory; then look, remember, choose, tell, and with --apply give back; once, or
 * again and again. The memory is written after each look, so that a killed run loses none of it.
 */

#include "nmscale/options.h"

enum nm_scale_exit nm_scale_run(const struct nm_scale_options *o);
