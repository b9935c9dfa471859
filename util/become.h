/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Changes the identity of a process of nmd to a user. Every program uses this function, so that a container's command,
 * the fetch of its resources and its shuffle run with the same user, group and supplementary groups. become.c needs
 * only the C library, because nm-shim links it too. groups.c queries the name services, which may block.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct nm_identity {
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /* n_groups supplementary groups */
    size_t n_groups;
};

struct nm_become_options {
    uint64_t kept_capabilities; /* bit mask of capabilities that remain permitted and effective; 0: no capability
                                   remains */
    bool no_new_privs;          /* a later execve() can't gain rights */
};

/*
 * Changes groups, ids and capabilities of the whole process irrevocably. A process that stays root keeps its permitted
 * capabilities. A root process first joins a new, empty session keyring if the kernel allows it. A process that isn't
 * root can only keep its own identity. The parent-death signal is kept. Returns -EPERM if the change isn't permitted or
 * a capability to be kept is missing. After a failure the process must exit.
 */
int nm_become(const struct nm_identity *who, const struct nm_become_options *options);

/* Joins a new, empty session keyring, so that the keys of one user's processes aren't visible to processes of other
 * users that nmd started. On failure (a kernel without keys, a system call filter) the process keeps nmd's keyring,
 * which is normally empty. */
void nm_become_own_keyring(void);

/* Returns all groups of an account, including gid; the caller frees *ret. Queries the name services, which may block.
 * Returns -E2BIG if there are more groups than the kernel accepts, or -ENOMEM. */
int nm_groups_find(const char *account, gid_t gid, gid_t **ret, size_t *ret_n);
/* Returns the groups of the first account with that uid, as nm_groups_find() does. If no account has the uid, the
 * result is gid alone. */
int nm_groups_find_uid(uid_t uid, gid_t gid, gid_t **ret, size_t *ret_n);
