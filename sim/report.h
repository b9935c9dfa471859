/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reports of replays, for people and for programs: tables, JSON and a picture. */

#include <jansson.h>

#include "sim/cases.h"
#include "sim/replay.h"

/* Prints one replay. off: the replay of this workload with over-allocation off, or NULL. */
void nm_sim_report_print(const struct nm_workload *load, const struct nm_sim_result *r,
                         const struct nm_sim_result *off, FILE *f);
/* Prints several replays side by side, and the settings that their names stand for. The first replay has
 * over-allocation off. */
void nm_sim_report_compare(const struct nm_workload *load, const struct nm_sim_case *cases,
                           const struct nm_sim_result *results, size_t n, FILE *f);
/* Returns the replays as {"workload": {...}, "cases": [...]}. Returns NULL if memory ran out. off may be NULL. */
json_t *nm_sim_report_to_json(const struct nm_workload *load, const struct nm_sim_result *results,
                              size_t n, const struct nm_sim_result *off);

/* Returns the useful work relative to that of `off`; 0 if `off` has no useful work. */
double nm_sim_report_gain(const struct nm_sim_result *r, const struct nm_sim_result *off);

/* ---- plot.c ---------------------------------------------------------------------------------- */

/*
 * Draws a picture of several replays with gnuplot: use of memory and CPU over time with the thresholds, the number of
 * running opportunistic containers, and the gains and losses of each replay. path ends in .svg or .png. results[0] is
 * the replay with over-allocation off. Returns 0, or -errno with *ret_message, which the caller frees.
 */
int nm_plot(const struct nm_workload *load, const struct nm_sim_result *results, size_t n,
            const char *path, char **ret_message);
/* Checks the path before any replay. Returns -EINVAL, with a message, if the path ends neither in .svg nor in .png. */
int nm_plot_check_path(const char *path, char **ret_message);
