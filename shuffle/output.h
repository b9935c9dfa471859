/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the outputs of maps lie: in the node's local directories, as
 *
 *   usercache/<user>/appcache/<application>/output/<attempt>/file.out and file.out.index
 *
 * Each of the two files may be in a directory of its own.
 *
 * They were written by containers, so a name there may lead anywhere, and a file may be anybody's: no link is followed,
 * and a file that isn't the job's user's is none (as Hadoop's SecureIOUtils has it).
 */

#include "shuffle/checked.h"
#include "shuffle/index.h"
#include "shuffle/jobs.h"

#define NM_SHUFFLE_DIRS_MAX 64u

/* A directory that is missing or fails has no outputs; it is looked for again with each request. */
struct nm_shuffle_dirs {
    const char *names[NM_SHUFFLE_DIRS_MAX];
    unsigned n;
    struct nm_shuffle_checked *checked; /* NULL: each lookup reads an index as a whole */
};

/* Who pays for a lookup: spend() is called before work is done that a job's user can make large, an index being checked
 * or many records of it being read, and says 0, or why it is not to be done. */
struct nm_shuffle_payer {
    int (*spend)(uint64_t index_bytes, void *userdata);
    void *userdata;
};

/* What a reducer is to have of a map. */
struct nm_shuffle_output {
    unsigned dir; /* which of the directories has its file.out */
    struct nm_shuffle_part part; /* of all reducers that were asked for */
};

/* Looks through the directories. -ENOENT: no such output (yet, or any more); -EPERM: it isn't the user's; else
 * nm_shuffle_index_read()'s, -EBADMSG if no file.out is as long as the index says, or what spend() said.
 * payer may be NULL; ret_lengths has room for as many as the range has reducers. */
int nm_shuffle_output_find(const struct nm_shuffle_dirs *dirs, const struct nm_shuffle_job *job, struct nm_bytes map,
                           struct nm_shuffle_range range, const struct nm_shuffle_payer *payer,
                           struct nm_shuffle_lengths *ret_lengths, struct nm_shuffle_output *ret);

/* Its file.out, open for reading; the caller's. */
int nm_shuffle_output_open(const struct nm_shuffle_dirs *dirs, const struct nm_shuffle_job *job, struct nm_bytes map,
                           const struct nm_shuffle_output *output, int *ret_fd);
