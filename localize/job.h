/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One run of nm-localizer under nmd: a process group that runs as the user, with limits. The event loop reads the lines
 * of the process and detects its end. */

#include <sys/types.h>
#include <systemd/sd-event.h>

#include "localize/worker-protocol.h"
#include "util/macros.h"

struct nm_localizer_job;

struct nm_localizer_job_params {
    sd_event *event;
    int program_fd; /* open file of nm-localizer, from nmd's start */
    uid_t uid;
    gid_t gid;
    const char *account; /* account whose supplementary groups are used; NULL: the uid's first account */
    const char *work; /* text for nm-localizer's standard input */
    size_t n; /* number of resources in the work */
    uint64_t most_memory_bytes; /* limit on nm-localizer's writable memory; nm-localizer may raise it for a command */
    /* Called once, as the last callback. Only this callback may free the job. reason: why the job failed; NULL if it
     * succeeded. */
    void (*replied)(struct nm_localizer_job *job, const struct nm_worker_reply *reply, void *userdata);
    void (*ended)(struct nm_localizer_job *job, const char *reason, void *userdata);
    /* The job has written more than nm-localizer ever writes, and nmd reads no further lines. The callback may kill the
     * job. */
    void (*overran)(struct nm_localizer_job *job, void *userdata);
    void *userdata;
};

int nm_localizer_job_new(const struct nm_localizer_job_params *p, struct nm_localizer_job **ret);
/* Kills the whole process group and waits for its end, unless the process can't exit because it waits for a disk. No
 * callback is called afterwards. */
struct nm_localizer_job *nm_localizer_job_free(struct nm_localizer_job *job);
NM_DEFINE_CLEANUP(struct nm_localizer_job *, nm_localizer_job_free)
/* Kills the whole process group without waiting, because a process may need time to exit. `ended` will be called. */
void nm_localizer_job_kill(struct nm_localizer_job *job);
