/* SPDX-License-Identifier: Apache-2.0 */

/* See become.h. */

#include "util/become.h"

#include <grp.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/error.h"

/* Empties the bounding set, so that a later execve() can't regain dropped capabilities. Without CAP_SETPCAP the set is
 * not changed, and only no_new_privs prevents a regain of capabilities. */
static void empty_bounding_set(void)
{
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
            return;
}

/* Keeps root's permitted set, because the kernel would restore it on the next execve() anyway. The inheritable and
 * ambient sets are emptied for all users, so that an execve() doesn't pass on nmd's capabilities. */
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

/* Changes the user last, because the right to change the groups is lost with root's uid. */
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

void nm_become_own_keyring(void)
{
    (void)syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, NULL);
}

static int become_other(const struct nm_identity *who, const struct nm_become_options *t)
{
    int r;

    /* still as root, so that the keyring is charged to root's quota: otherwise containers would use up a user's own
     * quota (200 keys), and the user's next login would get no keyring */
    nm_become_own_keyring();
    if (who->uid != 0 && t->no_new_privs)
        empty_bounding_set();
    /* setresuid() would clear the permitted set */
    if (t->kept_capabilities != 0 && prctl(PR_SET_KEEPCAPS, 1L, 0, 0, 0) < 0)
        return -errno;
    r = change_ids(who);
    if (r < 0)
        return r;
    if (limit_capabilities(who->uid, t->kept_capabilities) < 0)
        return -EPERM;
    /* otherwise only an execve() clears the flag, and not every caller executes a program */
    if (t->kept_capabilities != 0 && prctl(PR_SET_KEEPCAPS, 0L, 0, 0, 0) < 0)
        return -errno;
    /* fail if the process can become root again */
    return who->uid != 0 && setresuid((uid_t)-1, 0, (uid_t)-1) == 0 ? -EPERM : 0;
}

/* Checks that the process already has this identity. The process keeps its groups, because only root can change
 * them. */
static int keep_identity(const struct nm_identity *who, const struct nm_become_options *t)
{
    if (geteuid() != who->uid || getegid() != who->gid)
        return -EPERM;
    return limit_capabilities(who->uid, t->kept_capabilities) < 0 ? -EPERM : 0;
}

/* Sets the signal again, since the kernel clears it at a change of user. Ends the process if its parent has died before
 * the signal was set again. */
static int keep_parent_death_signal(int signal_number, pid_t parent)
{
    if (signal_number == 0)
        return 0;
    if (prctl(PR_SET_PDEATHSIG, (unsigned long)signal_number, 0, 0, 0) < 0)
        return -errno;
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    return 0;
}

int nm_become(const struct nm_identity *who, const struct nm_become_options *options)
{
    const pid_t parent = getppid();
    int r, signal_number = 0;

    (void)prctl(PR_GET_PDEATHSIG, &signal_number, 0, 0, 0);
    r = geteuid() == 0 ? become_other(who, options) : keep_identity(who, options);
    if (r >= 0)
        r = keep_parent_death_signal(signal_number, parent);
    if (r >= 0 && options->no_new_privs)
        r = RET_NERRNO(prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L));
    return r;
}
