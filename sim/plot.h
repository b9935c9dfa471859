/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A picture of several replays, drawn by gnuplot: use of memory and CPU over time with the thresholds, the number of
 * running opportunistic containers, and the gains and losses of each replay.
 */

#include "sim/run.h"

/* Draws the picture. path ends in .svg or .png. results[0] is the replay with over-allocation off. Returns 0, or -errno
 * with *ret_message, which the caller frees. */
int nm_plot(const struct nm_workload *load, const struct nm_sim_result *results, size_t n,
            const char *path, char **ret_message);
/* Checks the path before any replay. -EINVAL, with a message: the path has neither ending. */
int nm_plot_check_path(const char *path, char **ret_message);
