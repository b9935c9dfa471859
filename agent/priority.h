/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Attributes of processes, not of their cgroup: oom_score_adj and, where the cgroup2 mount has no cpu controller, the
 * scheduling class. Therefore a promotion or demotion has to set these attributes for each process.
 */

#include "cgroup/cgroup.h"

struct nm_priority {
    int oom_score_adj;
    bool schedule;   /* nmd sets the scheduling class, because the cgroups have no cpu controller */
    bool background; /* SCHED_IDLE and the lowest autogroup */
    bool dying;      /* the processes are about to be killed: they get more CPU time, to free their memory */
};

/* Sets the priority of one process, before it starts others that inherit it. Returns 0 or -errno. */
int nm_priority_set(pid_t pid, const struct nm_priority *p);

/* Sets the priority of all processes of the cgroup except `except` (the shim). The first processes are set immediately,
 * the others in later turns of the event loop. Skips attributes that can't be set. */
struct nm_procs_pass;
void nm_priority_set_all(struct nm_procs_pass **pass, sd_event *event, const struct nm_cgroup *cg, pid_t except,
                         const struct nm_priority *p);
