/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What came of replays, for people and for programs. */

#include <jansson.h>

#include "sim/cases.h"
#include "sim/run.h"

/* One replay. off: the same with over-allocation off, or NULL. */
void nm_report_print(const struct nm_workload *load, const struct nm_sim_result *r,
                     const struct nm_sim_result *off, FILE *f);
/* Several beside each other, and what their names stand for; the first is over-allocation off. */
void nm_report_compare(const struct nm_workload *load, const struct nm_sim_case *cases,
                       const struct nm_sim_result *results, size_t n, FILE *f);
/* The same as {"workload": {...}, "cases": [...]}, NULL without memory. off may be NULL. */
json_t *nm_report_to_json(const struct nm_workload *load, const struct nm_sim_result *results,
                          size_t n, const struct nm_sim_result *off);

/* Useful work to that of `off`; 0 if that did none. */
double nm_report_gain(const struct nm_sim_result *r, const struct nm_sim_result *off);
