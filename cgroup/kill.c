/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Kills and signals whole cgroups.
 *
 * cgroup.kill (kernel 5.14) is preferred: it is atomic against forks, recursive, and works on frozen groups. Without it
 * the group is frozen first, so that no process can fork between two reads of the list; SIGKILL also ends a frozen v2
 * task. Each process is opened as a pidfd, *then* checked to be in this cgroup, then signalled: so a recycled process
 * id cannot hit an unrelated process.
 */

#include "cgroup/cgroup.h"

#include <assert.h>
#include <signal.h>
#include <sys/syscall.h>

#include "cgroup/attr.h"
#include "cgroup/procs.h"

/* The list may grow during the walk if the group cannot be frozen. After this many rounds the caller handles the rest:
 * it waits for "populated 0" and calls again. */
#define KILL_ROUNDS 8

/* Maximum number of processes signalled at once, because one signal takes some 20 us. A container with more processes
 * gets no more of nmd's time: the remaining processes do not get the SIGTERM, and are ended by the SIGKILL that
 * follows. */
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

void nm_cgroup_lift_cpu_limits(const struct nm_cgroup *cg)
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
