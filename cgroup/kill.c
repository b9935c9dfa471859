/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Killing and signalling whole cgroups.
 *
 * cgroup.kill (kernel 5.14) is the good way: atomic against forks, recursive, and it works on
 * frozen groups. Before it, the group is frozen first, so that nothing can fork away between two
 * looks at the list; a frozen v2 task still dies of SIGKILL. One by one, a process is pinned with a
 * pidfd, *then* checked to be in this cgroup, then signalled: an id recycled in between can't hit a
 * stranger.
 */

#include "cgroup/cgroup.h"

#include <assert.h>
#include <signal.h>
#include <sys/syscall.h>

#include "cgroup/attr.h"
#include "cgroup/procs.h"

/* The list may grow while it is walked when the group can't be frozen; what is left after this many
 * rounds is found by the caller, who waits for "populated 0" and asks again. */
#define KILL_ROUNDS 8

/* To signal one takes some 20 us. A container that has more processes than this gets no more of nmd's time at once: the
 * others don't hear a SIGTERM, and die of the SIGKILL that follows it. */
#define SIGNALS_MAX 4096u

struct target {
    const struct nm_cgroup *cg;
    int sig;
    pid_t except;
    unsigned n_seen, n_signalled;
};

static int signal_one(pid_t pid, void *userdata)
{
    struct target *t = userdata;
    _cleanup_close_ int pidfd = -EBADF;

    assert(pid > 0);
    if (t->n_seen++ >= SIGNALS_MAX)
        return NM_PROCS_CUT;
    if (pid == t->except)
        return 0;
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return errno == ESRCH ? 0 : -errno;
    if (!nm_procs_is_member(pid, t->cg->name))
        return 0;
    if (syscall(SYS_pidfd_send_signal, pidfd, t->sig, NULL, 0) < 0)
        return errno == ESRCH ? 0 : -errno;
    t->n_signalled++;
    return 0;
}

int nm_cgroup_signal(const struct nm_cgroup *cg, int sig, pid_t except)
{
    struct target t = {.cg = cg, .sig = sig, .except = except};
    int r;

    assert(sig > 0 && except >= 0 && cg->name);
    r = nm_procs_walk(cg->dir_fd, signal_one, &t);
    return NM_MIN(r, 0);
}

static int kill_one_by_one(const struct nm_cgroup *cg)
{
    (void)nm_cgroup_freeze(cg, true);
    for (unsigned round = 0; round < KILL_ROUNDS; round++) {
        struct target t = {.cg = cg, .sig = SIGKILL};
        int r = nm_procs_walk(cg->dir_fd, signal_one, &t);

        if (r < 0 || t.n_signalled == 0)
            return NM_MIN(r, 0);
    }
    return 0;
}

void nm_cgroup_hasten(const struct nm_cgroup *cg)
{
    (void)nm_attr_write(cg->dir_fd, "cpu.max", "max");
    (void)nm_attr_write(cg->dir_fd, "cpu.idle", "0");
}

int nm_cgroup_kill(const struct nm_cgroup *cg)
{
    int r;

    assert(cg->dir_fd >= 0);
    r = nm_attr_write(cg->dir_fd, "cgroup.kill", "1");
    return r == -EOPNOTSUPP ? kill_one_by_one(cg) : r;
}

static int count_one(pid_t pid, void *userdata)
{
    (void)pid;
    ++*(unsigned *)userdata;
    return 0;
}

int nm_cgroup_n_processes(const struct nm_cgroup *cg, unsigned *ret)
{
    unsigned n = 0;
    int r = nm_procs_walk(cg->dir_fd, count_one, &n);

    if (r < 0)
        return r;
    *ret = n;
    return 0;
}
