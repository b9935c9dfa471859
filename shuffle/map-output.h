/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the outputs of maps in the node's local directories:
 *
 *   usercache/<user>/appcache/<application>/output/<attempt>/file.out and file.out.index
 *
 * The two files may be in different local directories.
 *
 * Containers write these files, so a name may lead anywhere and a file may have any owner. Links are not followed, and
 * a file that the job's user does not own is ignored (as in Hadoop's SecureIOUtils).
 */

#include "shuffle/index.h"
#include "shuffle/jobs.h"

#define NM_SHUFFLE_DIRS_MAX 64u

/* The local directories. A directory that is missing or fails has no outputs; each request opens the directories
 * again. */
struct nm_shuffle_dirs {
    const char *names[NM_SHUFFLE_DIRS_MAX];
    unsigned n;
    struct nm_shuffle_index_cache *index_cache; /* NULL: each lookup reads the whole index */
};

/* The account that pays for a lookup. spend() is called before work whose amount the job's user determines: checking an
 * index or reading many records of it. spend() returns 0, or an error if the work must not be done. */
struct nm_shuffle_account {
    int (*spend)(uint64_t index_bytes, void *userdata);
    void *userdata;
};

/* The output of a map for a reducer. */
struct nm_shuffle_output {
    unsigned dir; /* index of the directory that has file.out */
    struct nm_shuffle_part part; /* parts of all requested reducers */
};

/* The directories output of one job in the local directories, which stay open between several lookups. A descriptor
 * prevents that a disk is unmounted, so they must be closed soon. A struct initialized with {} has none. */
#define NM_SHUFFLE_JOB_DIRS_MAX 16u
struct nm_shuffle_job_dirs {
    unsigned n;                       /* number of local directories that lookups have reached */
    int fds[NM_SHUFFLE_JOB_DIRS_MAX]; /* -EBADF: not open */
};
void nm_shuffle_job_dirs_close(struct nm_shuffle_job_dirs *d);

struct nm_shuffle_lookup {
    const struct nm_shuffle_dirs *dirs;
    const struct nm_shuffle_job *job;
    const struct nm_shuffle_account *account; /* may be NULL */
    struct nm_shuffle_job_dirs *job_dirs;     /* of this job; NULL: each lookup opens the directories again */
};

/* Searches the directories. Returns -ENOENT if the output does not exist (yet, or any more), -EPERM if the output
 * belongs to another user, an error of nm_shuffle_index_read(), -EBADMSG if no file.out is as long as the index says,
 * or an error of spend(). ret_lengths has room for the reducers of the range. *ret_file is file.out as
 * nm_shuffle_output_open() opens it, or -EBADF in the rare case that the search had to close it. ret_file may be
 * NULL. */
int nm_shuffle_output_find(const struct nm_shuffle_lookup *l, struct nm_bytes map, struct nm_shuffle_range range,
                           struct nm_shuffle_lengths *ret_lengths, struct nm_shuffle_output *ret, int *ret_file);

/* Opens the output's file.out for reading; the caller owns the descriptor. */
int nm_shuffle_output_open(const struct nm_shuffle_lookup *l, struct nm_bytes map,
                           const struct nm_shuffle_output *output, int *ret_fd);
