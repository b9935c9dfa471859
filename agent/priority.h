/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What belongs to processes and not to their cgroup, so that promotion and demotion have to visit
 * each one: oom_score_adj, and, where the cgroup2 mount has no cpu controller, the scheduling
 * class.
 */

#include "cgroup/cgroup.h"

struct nm_priority {
    int oom_score_adj;
    bool schedule;   /* the scheduling class is ours to set: there is no cpu controller */
    bool background; /* SCHED_IDLE and the lowest autogroup */
};

/* For one process that is about to start others: they inherit it. Returns 0 or -errno. */
int nm_priority_set(pid_t pid, const struct nm_priority *p);

/* For all processes of the cgroup but `except` (the shim). What can't be set is left as it is. */
void nm_priority_set_all(const struct nm_cgroup *cg, pid_t except, const struct nm_priority *p);
