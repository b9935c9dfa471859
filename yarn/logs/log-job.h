/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One run of nm-log-uploader: an attempt of an upload, or the preparation of the remote directory. A run that exceeds
 * its time, or that reports nothing for too long, is killed. */

#include <systemd/sd-event.h>

#include "yarn/logs/log-book.h"

struct nm_yarn_log_job;

/* The result of a run. */
struct nm_yarn_log_outcome {
    enum nm_yarn_log_result result;
    const char *error; /* the end of a sentence; "" after a success */
    const char *name;  /* name of the remote file; "" if nothing was uploaded */
    uint64_t bytes, n_files;
};

struct nm_yarn_log_job_params {
    sd_event *event;
    int program_fd; /* open file of nm-log-uploader */
    uid_t uid;
    gid_t gid;
    const char *account;        /* account whose supplementary groups are used; NULL: the uid's first account */
    const char *work;           /* the worker's standard input */
    uint64_t most_memory_bytes;
    uint64_t silent_usec, most_usec; /* the run is killed if it reports nothing for this time, or lasts longer */
    /* Called for each note of the worker, at most NM_UPLOAD_MAX_NOTES times. Must not free the job. */
    void (*note)(struct nm_yarn_log_job *job, const char *text, void *userdata);
    /* Called once, as the last callback. Only this callback may free the job. */
    void (*ended)(struct nm_yarn_log_job *job, const struct nm_yarn_log_outcome *outcome, void *userdata);
    void *userdata;
};

/* The work is copied. account: must outlive nm_yarn_log_job_new() only. */
int nm_yarn_log_job_new(const struct nm_yarn_log_job_params *p, struct nm_yarn_log_job **ret);
/* Kills the run. `ended` isn't called afterwards. */
struct nm_yarn_log_job *nm_yarn_log_job_free(struct nm_yarn_log_job *job);
NM_DEFINE_CLEANUP(struct nm_yarn_log_job *, nm_yarn_log_job_free)

/* Return the progress that the worker has reported. *ret_total 0: not known yet. */
void nm_yarn_log_job_progress(const struct nm_yarn_log_job *job, uint64_t *ret_bytes, uint64_t *ret_total);
uint64_t nm_yarn_log_job_started_usec(const struct nm_yarn_log_job *job);
