/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Users: who a container runs as, and who may ask for that.
 *
 *  - Whoever names no user runs as itself.
 *  - An ordinary user may run as itself only; an administrator as any user.
 *  - A uid below [containers] min-uid, or a user on its banned list, is refused to everybody but
 *    root, and to root too unless it names the user: what acts for others under root's uid and
 *    forgets to say for whom must not get root. `nmctl run` by root names its own account, so that
 *    at a terminal it is as with a shell.
 *  - An nmd without root can start processes as nobody but itself; its own uid then is what root is
 *    elsewhere.
 *
 * Look-ups go through NSS and may block for as long as a directory server takes (nss-systemd, files
 * and sssd's cache don't). They are made at submission only, never while deciding.
 */

#include "agent/caller.h"
#include "agent/config/config.h"

struct nm_user {
    uid_t uid;
    gid_t gid;
    char *name;  /* login; the uid in digits when it has none */
    char *home;  /* "/" if unknown */
    char *shell; /* "/bin/sh" if unknown */
};

void nm_user_done(struct nm_user *u);

/* Resolves a login name, or a uid in digits. -ENOENT when there is no such user; other -errno from
 * NSS. */
int nm_users_lookup(const char *name, struct nm_user *ret);
int nm_users_lookup_uid(uid_t uid, struct nm_user *ret);
/* -ENOENT when there is no such group. */
int nm_users_lookup_group(const char *name, gid_t *ret);

/* Whether these credentials are an administrator's: root, the uid nmd runs as, or a member of the
 * admin group (admin_gid NULL: there is none). groups: supplementary ones, as SO_PEERGROUPS tells
 * them. Pure. */
bool nm_users_is_admin(uid_t uid, gid_t gid, const gid_t *groups, size_t n_groups, uid_t own_uid,
                       const gid_t *admin_gid);

/* The rules above for a user that has been looked up. named: it was asked for. own_uid: what nmd
 * runs as. Pure. */
int nm_users_may_run(const struct nm_config *c, const struct nm_caller *who, uid_t own_uid,
                     bool named, const struct nm_user *u, struct nm_problem *ret_problem);

/* Resolves `requested` (NULL or "": the caller itself) and applies the rules. 0 and *ret, which the
 * caller clears with nm_user_done(); a positive nm_agent_outcome with *ret_problem; or -errno. */
int nm_users_check(const struct nm_config *c, const struct nm_caller *who, const char *requested,
                   struct nm_user *ret, struct nm_problem *ret_problem);
