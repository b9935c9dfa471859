/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The jobs whose map outputs may be fetched: whose they are, and the key with which their reducers sign. May be used
 * by several threads.
 */

#include <stdint.h>
#include <sys/types.h>

#include "rpc/hadoop/bytes.h"
#include "util/macros.h"

#define NM_SHUFFLE_JOBS_MAX 20000u
#define NM_SHUFFLE_KEY_MAX 64u /* Hadoop makes keys of 8 bytes */

struct nm_shuffle_job {
    char id[64];
    char user[64]; /* whose directory it is in */
    uid_t uid;     /* whose files they are; another one's aren't sent */
    uint8_t key[NM_SHUFFLE_KEY_MAX];
    size_t key_size;
};

struct nm_shuffle_jobs;

int nm_shuffle_jobs_new(struct nm_shuffle_jobs **ret);
struct nm_shuffle_jobs *nm_shuffle_jobs_free(struct nm_shuffle_jobs *jobs);
NM_DEFINE_CLEANUP(struct nm_shuffle_jobs *, nm_shuffle_jobs_free)

/* Takes the place of one of the same id. -ENOSPC: there are too many. */
int nm_shuffle_jobs_add(struct nm_shuffle_jobs *jobs, const struct nm_shuffle_job *job);
/* -ENOENT: there is none of that id. */
int nm_shuffle_jobs_remove(struct nm_shuffle_jobs *jobs, const char *id);
/* Books work of some CPU time for a job, before it is done, and says how long to wait before it may begin. A job may
 * have NM_SHUFFLE_BURST_USEC of work done at once, and else NM_SHUFFLE_SHARE_PERCENT of one CPU. -EBUSY: what is booked
 * already takes longer than NM_SHUFFLE_WAIT_MAX_USEC; nothing is booked then. -ENOENT. */
#define NM_SHUFFLE_BURST_USEC UINT64_C(1000000)
#define NM_SHUFFLE_SHARE_PERCENT 25u
#define NM_SHUFFLE_WAIT_MAX_USEC UINT64_C(30000000)
int nm_shuffle_jobs_book(struct nm_shuffle_jobs *jobs, const char *id, uint64_t work_usec, uint64_t now_usec,
                         uint64_t *ret_wait_usec);

/* A copy, so that the job may go while it is served. -ENOENT. */
int nm_shuffle_jobs_find(struct nm_shuffle_jobs *jobs, struct nm_bytes id, struct nm_shuffle_job *ret);
