/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The one way in which a process of ours becomes a user. Every program uses it, so that a container's command, the
 * fetch of its resources and its shuffle have the same rights: user, group and supplementary groups. become.c needs
 * nothing but the C library, since nm-shim links it, too; groups.c asks the name services, which may block.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct nm_identity {
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /* supplementary ones, as many as n_groups */
    size_t n_groups;
};

struct nm_become_terms {
    uint64_t kept_capabilities; /* bits of those that stay permitted and effective; 0: none */
    bool no_new_privs;          /* nothing that is executed later gains rights */
};

/*
 * Makes the whole process that user for good: groups, ids and capabilities. Root's own process keeps its permitted
 * capabilities. Where the kernel lets it, root's process gets an empty session keyring of its own first. A process that
 * isn't root can be itself only. -EPERM: it may not, or a capability that is to be kept is missing; after a failure the
 * process must not go on.
 */
int nm_become(const struct nm_identity *who, const struct nm_become_terms *terms);

/* Returns all groups of an account, gid among them; the caller frees *ret. It asks the name services, which may block.
 * -E2BIG: more than the kernel takes. -ENOMEM. */
int nm_groups_find(const char *account, gid_t gid, gid_t **ret, size_t *ret_n);
/* The same for the first account with that uid. Without any the result is gid alone, since a uid needs no account. */
int nm_groups_find_uid(uid_t uid, gid_t gid, gid_t **ret, size_t *ret_n);
