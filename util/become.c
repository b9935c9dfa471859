/* SPDX-License-Identifier: Apache-2.0 */

/* See become.h. */

#include "util/become.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/error.h"

#define JOIN_SESSION_KEYRING 1 /* KEYCTL_JOIN_SESSION_KEYRING */

/* Nothing that is executed later can get back what isn't in the bounding set. Without CAP_SETPCAP it stays, and
 * no_new_privs alone has to do. */
static void empty_bounding_set(void)
{
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
            return;
}

/* Root keeps its permitted set, since the kernel would give it back on the next exec anyway. Inheritable and ambient
 * sets are emptied for everybody: an exec must not bring anything of nmd's back. */
static int limit_capabilities(uid_t uid, uint64_t kept)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {0};

    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capget, &head, caps) < 0)
        return -errno;
    for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        const uint32_t wanted = (uint32_t)(kept >> (32 * i));

        caps[i].inheritable = 0;
        if (uid == 0)
            continue;
        if ((caps[i].permitted & wanted) != wanted)
            return -EPERM;
        caps[i].permitted = caps[i].effective = wanted;
    }
    return RET_NERRNO(syscall(SYS_capset, &head, caps));
}

/* Groups first and the user last, since the right to change the others goes with the user. */
static int change_ids(const struct nm_identity *who)
{
    uid_t r, e, s;

    if (setgroups(who->n_groups, who->groups) < 0 || setresgid(who->gid, who->gid, who->gid) < 0 ||
        setresuid(who->uid, who->uid, who->uid) < 0)
        return -errno;
    if (getresuid(&r, &e, &s) < 0 || r != who->uid || e != who->uid || s != who->uid)
        return -EPERM;
    return 0;
}

/* What a user's processes keep in their session keyring is not for those of others that nmd has started. It is made
 * while this still is root, whose quota it then counts for: a user's own (200 keys) would be used up by containers,
 * and the next login be without. Where there is none to be had (a kernel without keys, a filter of system calls) nmd's
 * stays, which is empty unless somebody uses it. */
static void join_own_keyring(void)
{
    (void)syscall(SYS_keyctl, JOIN_SESSION_KEYRING, NULL);
}

static int become_other(const struct nm_identity *who, const struct nm_become_terms *t)
{
    int r;

    join_own_keyring();
    if (who->uid != 0 && t->no_new_privs)
        empty_bounding_set();
    /* the change of user would drop the permitted set */
    if (t->kept_capabilities != 0 && prctl(PR_SET_KEEPCAPS, 1L, 0, 0, 0) < 0)
        return -errno;
    r = change_ids(who);
    if (r < 0)
        return r;
    if (limit_capabilities(who->uid, t->kept_capabilities) < 0)
        return -EPERM;
    /* only an execve() would clear it, which not everybody does after this */
    if (t->kept_capabilities != 0 && prctl(PR_SET_KEEPCAPS, 0L, 0, 0, 0) < 0)
        return -errno;
    /* the way back must be shut */
    return who->uid != 0 && setresuid((uid_t)-1, 0, (uid_t)-1) == 0 ? -EPERM : 0;
}

/* The groups that nmd was started with stay: only root can change them. */
static int stay_self(const struct nm_identity *who, const struct nm_become_terms *t)
{
    if (geteuid() != who->uid || getegid() != who->gid)
        return -EPERM;
    return limit_capabilities(who->uid, t->kept_capabilities) < 0 ? -EPERM : 0;
}

int nm_become(const struct nm_identity *who, const struct nm_become_terms *terms)
{
    int r = geteuid() == 0 ? become_other(who, terms) : stay_self(who, terms);

    if (r >= 0 && terms->no_new_privs)
        r = RET_NERRNO(prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L));
    return r;
}
