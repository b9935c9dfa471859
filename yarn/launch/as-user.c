/* SPDX-License-Identifier: Apache-2.0 */

/* See as-user.h. In the kernel, each thread has its own user and group for file access (fsuid and fsgid). The
 * capabilities that bypass file permissions depend on them. The C library's function for supplementary groups changes
 * all threads, so this file uses the system call. nm_become() sets the same identity, but permanently. */

#include "yarn/launch/as-user.h"

#include <grp.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "util/error.h"

/* Sets the ids. setfsuid() and setfsgid() don't report failures, but a call with an invalid id returns the current
 * id. */
static int set_ids(const struct nm_identity *who)
{
    (void)setfsgid(who->gid);
    (void)setfsuid(who->uid);
    return (uid_t)setfsuid((uid_t)-1) == who->uid && (gid_t)setfsgid((gid_t)-1) == who->gid ? 0 : -EPERM;
}

static int remember(struct nm_yarn_saved_identity *saved)
{
    saved->n_groups = RET_NERRNO(getgroups(0, NULL));
    if (saved->n_groups < 0)
        return saved->n_groups;
    saved->groups = calloc((size_t)saved->n_groups + 1, sizeof *saved->groups);
    if (!saved->groups)
        return -ENOMEM;
    saved->n_groups = RET_NERRNO(getgroups(saved->n_groups, saved->groups));
    saved->gid = getegid();
    saved->dumpable = prctl(PR_GET_DUMPABLE);
    return saved->n_groups < 0 ? saved->n_groups : 0;
}

int nm_yarn_become(const struct nm_identity *who, struct nm_yarn_saved_identity *ret)
{
    struct nm_yarn_saved_identity saved = {.is_other = 1};
    int r;

    *ret = (struct nm_yarn_saved_identity){};
    if (geteuid() != 0 || who->uid == 0)
        return who->uid == geteuid() ? 0 : -EPERM;
    r = remember(&saved);
    if (r >= 0)
        r = RET_NERRNO(syscall(SYS_setgroups, who->n_groups, who->groups));
    if (r < 0) {
        free(saved.groups);
        return r;
    }
    r = set_ids(who);
    if (r < 0)
        nm_yarn_return(&saved);
    else
        *ret = saved;
    return r;
}

/* Restores the identity. A change of identity clears the kernel's dumpable flag, and without that flag the process
 * dumps no core. */
void nm_yarn_return(struct nm_yarn_saved_identity *saved)
{
    if (saved->is_other) {
        (void)setfsuid(0);
        (void)setfsgid(saved->gid);
        (void)syscall(SYS_setgroups, saved->n_groups, saved->groups);
        (void)prctl(PR_SET_DUMPABLE, saved->dumpable == 1 ? 1 : 0);
    }
    free(saved->groups);
    *saved = (struct nm_yarn_saved_identity){};
}
