/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A run: take the locks and read the memory. Then, once or repeatedly: look, remember, choose, print, and with --apply
 * give nodes back. The memory is written after each look, so that a killed run loses no findings.
 */

#include "nmscale/options.h"

enum nm_scale_exit nm_scale_run(const struct nm_scale_options *o);
