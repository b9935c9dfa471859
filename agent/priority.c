/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See priority.h. Without a cpu controller the kernel still distinguishes background work in two ways, and nmd combines
 * both. The first way is SCHED_IDLE per thread. The second way is needed where CONFIG_SCHED_AUTOGROUP puts each session
 * into its own group, since SCHED_IDLE then works only inside the group: the group's nice value in /proc/PID/autogroup.
 * A command that creates new sessions escapes the second way; the policy's pauses still limit such a command.
 */

#include "agent/priority.h"

#include <assert.h>
#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>

#include "cgroup/procs.h"
#include "util/autogroup.h"
#include "util/fileio.h"

/* Limits per process and per pass. In a larger container the remaining processes and threads keep their priority until
 * the container ends. Visiting a thread takes a microsecond, visiting a process about 40 microseconds. */
#define THREADS_MAX 4096u
#define PASS_THREADS_MAX 32768u

/* The niceness of processes that are about to be killed, and of their autogroup. They get three times the CPU time of
 * others, but less than nmd, whose niceness is -10. */
#define DYING_NICE (-5)
#define BACKGROUND_NICE 19

static int set_oom_score_adj(pid_t pid, int value)
{
    char path[64], text[16];

    assert(pid > 0);
    (void)snprintf(path, sizeof path, "/proc/%d/oom_score_adj", pid);
    (void)snprintf(text, sizeof text, "%d", value);
    return nm_write_file_at(AT_FDCWD, path, text);
}

/* Sets the scheduling class of each thread, since the class does not belong to the process. *n_threads: the number of
 * threads that may still be visited. */
static int schedule(pid_t pid, const struct nm_priority *p, unsigned *n_threads)
{
    const int nice = p->dying ? DYING_NICE : p->background ? BACKGROUND_NICE : 0;
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

        if (tid > 0 && sched_setscheduler(tid, p->background ? SCHED_IDLE : SCHED_OTHER, &zero) < 0)
            r = -errno;
        if (tid > 0 && p->dying)
            (void)setpriority(PRIO_PROCESS, (id_t)tid, DYING_NICE);
    }
    /* NM_AUTOGROUP_E_OWN: a shim that was just forked sets the nice value of its session itself. */
    (void)nm_autogroup_set_nice(pid, nice);
    return r;
}

static int set(pid_t pid, const struct nm_priority *p, unsigned *n_threads)
{
    int r = set_oom_score_adj(pid, p->oom_score_adj);

    assert(pid > 0);
    if (p->schedule) {
        int q = schedule(pid, p, n_threads);

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
    struct nm_priority priority;
    pid_t except;
    unsigned n_threads; /* number of threads that may still be visited */
};

static int visit(pid_t pid, void *userdata)
{
    struct pass *p = userdata;
    unsigned most = NM_MIN(p->n_threads, THREADS_MAX), n_threads = most;

    if (most == 0)
        return NM_PROCS_CUT;
    if (pid != p->except)
        (void)set(pid, &p->priority, &n_threads);
    p->n_threads -= most - n_threads;
    return 0;
}

/* Visits all processes twice. A child that is forked during the first visit inherits the old values; the second visit
 * finds the child. */
void nm_priority_set_all(struct nm_procs_pass **pass, sd_event *event, const struct nm_cgroup *cg, pid_t except,
                         const struct nm_priority *p)
{
    const struct pass data = {.priority = *p, .except = except, .n_threads = 2 * PASS_THREADS_MAX};

    assert(cg && cg->dir_fd >= 0);
    (void)nm_procs_pass_begin(pass, event, cg->dir_fd, 2, visit, &data, sizeof data);
}
