/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See priority.h. Without a cpu controller the kernel still tells background work apart, in two
 * ways that have to be used together: SCHED_IDLE per thread, and, where CONFIG_SCHED_AUTOGROUP puts
 * each session into a group of its own (inside which alone SCHED_IDLE then counts), the nice value
 * of that group in /proc/PID/autogroup. A command that makes sessions of its own escapes the
 * second; the policy's pausing catches it.
 */

#include "agent/priority.h"

#include <assert.h>
#include <dirent.h>
#include <sched.h>

#include "cgroup/procs.h"
#include "util/fileio.h"

/* What is visited in one pass: a container can have more, which then keep what they have until it ends. To visit a
 * thread takes a microsecond, a process some 30. */
#define PROCESSES_MAX 4096u
#define THREADS_MAX 32768u

static int write_number(pid_t pid, const char *file, int value)
{
    char path[64], text[16];

    assert(pid > 0);
    (void)snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    (void)snprintf(text, sizeof text, "%d", value);
    return nm_write_file_at(AT_FDCWD, path, text);
}

/* The class is a thread's, not a process's. *n_threads: how many more may be visited. */
static int schedule(pid_t pid, bool background, unsigned *n_threads)
{
    const struct sched_param zero = {0};
    _cleanup_closedir_ DIR *d = NULL;
    char path[64];
    int r = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/task", pid);
    d = opendir(path);
    if (!d)
        return -errno;
    for (struct dirent *e; *n_threads > 0 && (e = readdir(d)); --*n_threads) {
        pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

        if (tid > 0 && sched_setscheduler(tid, background ? SCHED_IDLE : SCHED_OTHER, &zero) < 0)
            r = -errno;
    }
    /* A shim that has just been forked is in nmd's own session still. -ENOENT: no autogroups here. */
    if (getsid(pid) != getsid(0))
        (void)write_number(pid, "autogroup", background ? 19 : 0);
    return r;
}

static int set(pid_t pid, const struct nm_priority *p, unsigned *n_threads)
{
    int r = write_number(pid, "oom_score_adj", p->oom_score_adj);

    assert(pid > 0);
    if (p->schedule) {
        int q = schedule(pid, p->background, n_threads);

        r = r < 0 ? r : q;
    }
    return r;
}

int nm_priority_set(pid_t pid, const struct nm_priority *p)
{
    unsigned n_threads = THREADS_MAX;

    return set(pid, p, &n_threads);
}

struct pass {
    const struct nm_priority *priority;
    pid_t except;
    unsigned n_processes, n_threads; /* that are left */
};

static int visit(pid_t pid, void *userdata)
{
    struct pass *p = userdata;

    if (p->n_processes-- == 0 || p->n_threads == 0)
        return NM_PROCS_CUT;
    if (pid != p->except)
        (void)set(pid, p->priority, &p->n_threads);
    return 0;
}

/* A process that forks while it is being visited passes the old values on: the second pass finds
 * the child. */
void nm_priority_set_all(const struct nm_cgroup *cg, pid_t except, const struct nm_priority *p)
{
    assert(cg && cg->dir_fd >= 0);
    for (int n = 0; n < 2; n++) {
        struct pass pass = {
            .priority = p, .except = except, .n_processes = PROCESSES_MAX, .n_threads = THREADS_MAX};

        if (nm_procs_walk(cg->dir_fd, visit, &pass) < 0)
            return;
    }
}
