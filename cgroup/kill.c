/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Killing and signalling whole cgroups.
 *
 * cgroup.kill (kernel 5.14) is the good way: atomic against forks, recursive, and it works on frozen groups. Before
 * it, the group is frozen first, so that nothing can fork away between two looks at the list; a frozen v2 task still
 * dies of SIGKILL. One by one, a process is pinned with a pidfd, *then* checked to be in this cgroup, then signalled:
 * an id recycled in between can't hit a stranger.
 */

#include "cgroup/cgroup.h"

#include <signal.h>
#include <sys/syscall.h>

#include "cgroup/attr.h"
#include "cgroup/procs.h"
#include "util/fileio.h"

/* The list may grow while it is walked when the group can't be frozen; what is left after this many rounds is found
 * by the caller, who waits for "populated 0" and asks again. */
#define KILL_ROUNDS 8

struct target {
    const struct nm_cgroup *cg;
    int sig;
    pid_t except;
    unsigned n_signalled;
};

/* Does the "0::/..." line of /proc/PID/cgroup lead through this cgroup? Its name is unique on the node; a path prefix
 * can't be compared, since a cgroup namespace may hide one. */
static bool line_names(const char *text, const char *name)
{
    const char *line = strstr(text, "0::");
    size_t len = strlen(name), line_len;

    while (line && line != text && line[-1] != '\n')
        line = strstr(line + 1, "0::");
    if (!line)
        return false;
    line_len = strcspn(line, "\n");
    for (const char *p = line; (p = strstr(p, name)) && p < line + line_len; p++)
        if (p[-1] == '/' && (p[len] == '/' || p[len] == '\n' || p[len] == '\0'))
            return true;
    return false;
}

static bool is_member(const struct nm_cgroup *cg, pid_t pid)
{
    char path[32], text[4096];

    (void)snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    if (nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) < 0)
        return false;
    return line_names(text, cg->name);
}

static int signal_one(pid_t pid, void *userdata)
{
    struct target *t = userdata;
    _cleanup_close_ int pidfd = -EBADF;

    if (pid == t->except)
        return 0;
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return errno == ESRCH ? 0 : -errno;
    if (!is_member(t->cg, pid))
        return 0;
    if (syscall(SYS_pidfd_send_signal, pidfd, t->sig, NULL, 0) < 0)
        return errno == ESRCH ? 0 : -errno;
    t->n_signalled++;
    return 0;
}

int nm_cgroup_signal(const struct nm_cgroup *cg, int sig, pid_t except)
{
    struct target t = {.cg = cg, .sig = sig, .except = except};

    return nm_procs_walk(cg->dir_fd, signal_one, &t);
}

static int kill_one_by_one(const struct nm_cgroup *cg)
{
    (void)nm_cgroup_freeze(cg, true);
    for (unsigned round = 0; round < KILL_ROUNDS; round++) {
        struct target t = {.cg = cg, .sig = SIGKILL};
        int r = nm_procs_walk(cg->dir_fd, signal_one, &t);

        if (r < 0 || t.n_signalled == 0)
            return r;
    }
    return 0;
}

int nm_cgroup_kill(const struct nm_cgroup *cg)
{
    int r = nm_attr_write(cg->dir_fd, "cgroup.kill", "1");

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
