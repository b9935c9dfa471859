/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A picture of several replays, drawn by gnuplot: use of memory and CPU over time with the
 * thresholds, how many opportunistic containers ran, and what was gained and lost by each.
 */

#include "sim/run.h"

/* path ends in .svg or .png. results[0] is over-allocation off. 0, or -errno with *ret_message, the
 * caller's to free. */
int nm_plot(const struct nm_workload *load, const struct nm_sim_result *results, size_t n,
            const char *path, char **ret_message);
/* -EINVAL, with a message, for a name of neither kind: to be asked before anything is computed. */
int nm_plot_check_path(const char *path, char **ret_message);
