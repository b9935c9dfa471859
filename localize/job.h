/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One run of nm-localizer under nmd: a process group of the user's, with its limits, whose lines and end the loop
 * hears. */

#include <sys/types.h>
#include <systemd/sd-event.h>

#include "localize/worker-protocol.h"
#include "util/macros.h"

struct nm_job;

struct nm_job_params {
    sd_event *event;
    int program_fd; /* nm-localizer's, as it was when nmd began */
    uid_t uid;
    gid_t gid;
    const char *account; /* whose supplementary groups it has; NULL: those of the uid's first account */
    const char *work; /* its standard input */
    size_t n; /* how many resources it has */
    uint64_t most_memory_bytes; /* that it writes to; it may lift that for a command */
    /* Neither may free the job but from `ended`, which comes once, and last. reason: why it ended, if not well. */
    void (*said)(struct nm_job *job, const struct nm_worker_reply *said, void *userdata);
    void (*ended)(struct nm_job *job, const char *reason, void *userdata);
    /* It has said more than nm-localizer does, and is heard no further; may kill it. */
    void (*overran)(struct nm_job *job, void *userdata);
    void *userdata;
};

int nm_job_new(const struct nm_job_params *p, struct nm_job **ret);
/* Kills all of the group and waits for its end, though not for a disk that keeps it; neither is called any more. */
struct nm_job *nm_job_free(struct nm_job *job);
NM_DEFINE_CLEANUP(struct nm_job *, nm_job_free)
/* Kills all of the group without waiting, since a process may take its time to die: `ended` will be called. */
void nm_job_kill(struct nm_job *job);
