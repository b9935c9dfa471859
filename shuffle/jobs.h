/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The jobs whose map outputs may be fetched: their users, and the keys with which their reducers sign. Several threads
 * may use these functions.
 */

#include <stdint.h>
#include <sys/types.h>

#include "rpc/hadoop/bytes.h"
#include "shuffle/share.h"
#include "util/macros.h"

#define NM_SHUFFLE_JOBS_MAX 20000u
#define NM_SHUFFLE_KEY_MAX 64u /* Hadoop makes keys of 8 bytes */

struct nm_shuffle_job {
    char id[64];
    char user[64]; /* user whose directory has the outputs */
    uid_t uid;     /* owner of the files; files of other owners are not sent */
    uint8_t key[NM_SHUFFLE_KEY_MAX];
    size_t key_size;
    uint64_t number; /* nm_shuffle_jobs_add() sets it; no other job has it, also not a later one with the same id */
};

struct nm_shuffle_jobs;

int nm_shuffle_jobs_new(struct nm_shuffle_jobs **ret);
struct nm_shuffle_jobs *nm_shuffle_jobs_free(struct nm_shuffle_jobs *jobs);
NM_DEFINE_CLEANUP(struct nm_shuffle_jobs *, nm_shuffle_jobs_free)

/* Sets the percentage of one CPU that all jobs may use together (shuffle/share.h). Before, each job has
 * NM_SHUFFLE_SHARE_PERCENT. */
void nm_shuffle_jobs_share(struct nm_shuffle_jobs *jobs, uint64_t percent);
/* Adds a job, or replaces the job with the same id. Returns -ENOSPC if there are too many jobs. */
int nm_shuffle_jobs_add(struct nm_shuffle_jobs *jobs, const struct nm_shuffle_job *job);
/* *ret_number: the number that the job had. Returns -ENOENT if no job has this id. */
int nm_shuffle_jobs_remove(struct nm_shuffle_jobs *jobs, const char *id, uint64_t *ret_number);
/* Books CPU time for a job before the work is done (shuffle/share.h). Returns -ENOENT if there is no such job. */
int nm_shuffle_jobs_charge(struct nm_shuffle_jobs *jobs, const char *id, uint64_t work_usec, uint64_t now_usec,
                           uint64_t *ret_wait_usec);

/* Returns a copy, so that the job may be removed while it is served. Returns -ENOENT if there is no such job. */
int nm_shuffle_jobs_find(struct nm_shuffle_jobs *jobs, struct nm_bytes id, struct nm_shuffle_job *ret);
