/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The user of a container, and the callers that may choose it.
 *
 *  - A request that names no user runs as the user who sends it.
 *  - An ordinary user may run containers only as itself; an administrator as any user.
 *  - Only root may use a uid below [containers] min-uid or a user in [containers] banned-users, and only by naming the
 *    user. A program that acts for others under root's uid must not get root when it names no user. `nmctl run` by root
 *    names its own account, so that at a terminal root can run containers as root.
 *  - An nmd that does not run as root can start processes only as its own user. These rules treat the user of such an
 *    nmd as root.
 *
 * Look-ups go through NSS and may block for as long as a directory server takes (nss-systemd, files
 * and sssd's cache don't). They are made at submission only, never while deciding.
 */

#include "agent/caller.h"
#include "agent/config/config.h"

struct nm_user {
    uid_t uid;
    gid_t gid;
    char *name;  /* login name; the uid in digits if the user has no name */
    char *home;  /* "/" if unknown */
    char *shell; /* "/bin/sh" if unknown */
};

void nm_user_done(struct nm_user *u);

/* Looks up a login name, or a uid in digits. Returns -ENOENT if there is no such user, or another -errno from NSS. */
int nm_users_lookup(const char *name, struct nm_user *ret);
int nm_users_lookup_uid(uid_t uid, struct nm_user *ret);
/* Returns -ENOENT if there is no such group. */
int nm_users_lookup_group(const char *name, gid_t *ret);

/* Returns whether the credentials are an administrator's: root, the uid nmd runs as, or a member of the admin group
 * (admin_gid NULL: no such group). groups: supplementary groups, from SO_PEERGROUPS. Pure. */
bool nm_users_is_admin(uid_t uid, gid_t gid, const gid_t *groups, size_t n_groups, uid_t own_uid,
                       const gid_t *admin_gid);

/* Applies the rules above to a user that was looked up. named: the request named the user. own_uid: the uid nmd runs
 * as. Pure. */
int nm_users_may_run(const struct nm_config *c, const struct nm_caller *who, uid_t own_uid,
                     bool named, const struct nm_user *u, struct nm_problem *ret_problem);

/* Looks up `requested` (NULL or "": the caller itself) and applies the rules. Returns 0 and *ret, which the caller
 * clears with nm_user_done(); a positive nm_agent_outcome with *ret_problem; or -errno. */
int nm_users_check(const struct nm_config *c, const struct nm_caller *who, const char *requested,
                   struct nm_user *ret, struct nm_problem *ret_problem);
