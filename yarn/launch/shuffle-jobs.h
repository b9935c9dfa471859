/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The jobs that nm-shuffle is to know, one for each application; in nmd's state directory there is a file for each, so
 * that a restarted nmd knows them, too. */

#include <sys/queue.h>
#include <sys/types.h>

#include "rpc/hadoop/bytes.h"
#include "util/error.h"

#define NM_YARN_SHUFFLE_KEY_MAX 64 /* nm-shuffle takes no longer ones; Hadoop makes keys of 8 bytes */

struct nm_yarn_shuffle_job {
    TAILQ_ENTRY(nm_yarn_shuffle_job) link;
    char *application, *submitter;
    uid_t uid; /* whose files they are */
    char key[2 * NM_YARN_SHUFFLE_KEY_MAX + 1]; /* in hexadecimal */
};

TAILQ_HEAD(nm_yarn_shuffle_job_list, nm_yarn_shuffle_job);

struct nm_yarn_shuffle_jobs {
    struct nm_yarn_shuffle_job_list list;
    int state_fd;
};

/* Reads what is there. */
int nm_yarn_shuffle_jobs_open(const char *state_dir, struct nm_yarn_shuffle_jobs *ret);
void nm_yarn_shuffle_jobs_done(struct nm_yarn_shuffle_jobs *jobs);

/* 1: it is known so already, 0: it is new or has changed. -EBADMSG: no name or no key. */
int nm_yarn_shuffle_jobs_add(struct nm_yarn_shuffle_jobs *jobs, const char *application, const char *submitter,
                             uid_t uid, struct nm_bytes key, const struct nm_yarn_shuffle_job **ret);
/* -ENOENT. */
int nm_yarn_shuffle_jobs_remove(struct nm_yarn_shuffle_jobs *jobs, const char *application);

/* nm-shuffle's lines for it (nm-shuffle(8)). Names are no longer than util/parse.h has them. */
#define NM_YARN_SHUFFLE_LINE_SIZE 400
void nm_yarn_shuffle_add_line(const struct nm_yarn_shuffle_job *job, char line[static NM_YARN_SHUFFLE_LINE_SIZE]);
void nm_yarn_shuffle_remove_line(const char *application, char line[static NM_YARN_SHUFFLE_LINE_SIZE]);
