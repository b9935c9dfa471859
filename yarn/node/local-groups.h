/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The groups of the host's own accounts, in the files passwd and group. A query to a name service could block the event
 * loop. Reading the files blocks it, too, so the groups of the last accounts are remembered until a file changes. */

#include <sys/types.h>
#include <time.h>

#define NM_YARN_LOCAL_GROUPS_MAX 16u /* accounts that are remembered. Any name counts, also that of no account. */

struct nm_yarn_file_stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, changed;
};

/* Begins as zeros. */
struct nm_yarn_local_groups {
    struct nm_yarn_file_stamp passwd, group;
    struct {
        char *user, *groups;
    } all[NM_YARN_LOCAL_GROUPS_MAX];
    unsigned next; /* the entry that is replaced next */
    unsigned long long n_reads; /* of the files */
};

/* Returns the names of the account's groups, separated by commas, until the next call. Returns "" for an unknown
 * account, and without memory. etc: the directory of the files. */
const char *nm_yarn_local_groups_find(struct nm_yarn_local_groups *g, const char *user, const char *etc);
void nm_yarn_local_groups_done(struct nm_yarn_local_groups *g);
