/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The jobs whose files an auxiliary service serves, one per application: jobs of MapReduce, or applications of Spark.
 * For each job, nmd's state directory contains a file, so that a restarted nmd can restore the job. */

#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "rpc/hadoop/bytes.h"
#include "util/error.h"

#define NM_YARN_SHUFFLE_KEY_MAX 256 /* bytes; Hadoop's keys have 8 bytes, and Spark's usually 64 */

struct nm_yarn_shuffle_job {
    TAILQ_ENTRY(nm_yarn_shuffle_job) link;
    char *application, *submitter;
    uid_t uid; /* owner of the job's files */
    char key[2 * NM_YARN_SHUFFLE_KEY_MAX + 1]; /* the job's key in hexadecimal */
    bool is_stored;
};

TAILQ_HEAD(nm_yarn_shuffle_job_list, nm_yarn_shuffle_job);

struct nm_yarn_shuffle_jobs {
    struct nm_yarn_shuffle_job_list list;
    int state_fd;
    size_t key_min, key_max; /* permitted sizes of keys in bytes */
};

/* Restores the jobs from the files in the state directory. key_min and key_max of ret must be set. */
int nm_yarn_shuffle_jobs_open(const char *state_dir, struct nm_yarn_shuffle_jobs *ret);
void nm_yarn_shuffle_jobs_done(struct nm_yarn_shuffle_jobs *jobs);

/* What a container's data for the service says about its application. */
struct nm_yarn_shuffle_grant {
    const char *application, *submitter;
    uid_t uid;
    struct nm_bytes key;
    bool is_stored; /* the job is restored after a restart of nmd */
};

/* Adds or changes a job. Returns 1 if the same job exists already, 0 if the job is new or has changed. -EBADMSG:
 * invalid name or key. */
int nm_yarn_shuffle_jobs_add(struct nm_yarn_shuffle_jobs *jobs, const struct nm_yarn_shuffle_grant *grant,
                             const struct nm_yarn_shuffle_job **ret);
/* Removes the application's job. -ENOENT: the application has no job. */
int nm_yarn_shuffle_jobs_remove(struct nm_yarn_shuffle_jobs *jobs, const char *application);

size_t nm_yarn_shuffle_jobs_count(const struct nm_yarn_shuffle_jobs *jobs);

#define NM_YARN_SHUFFLE_LINE_SIZE 1024
/* Format the input lines of nm-shuffle (nm-shuffle(8)). util/parse.h limits the length of names. */
void nm_yarn_shuffle_add_line(const struct nm_yarn_shuffle_job *job, char line[static NM_YARN_SHUFFLE_LINE_SIZE]);
void nm_yarn_shuffle_remove_line(const char *application, char line[static NM_YARN_SHUFFLE_LINE_SIZE]);
