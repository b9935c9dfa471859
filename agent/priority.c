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

#include "util/fileio.h"

#define PROCS_SIZE 32768

static int write_number(pid_t pid, const char *file, int value)
{
    char path[64], text[16];

    assert(pid > 0);
    (void)snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    (void)snprintf(text, sizeof text, "%d", value);
    return nm_write_file_at(AT_FDCWD, path, text);
}

/* The class is a thread's, not a process's. */
static int schedule(pid_t pid, bool background)
{
    const struct sched_param zero = {0};
    _cleanup_closedir_ DIR *d = NULL;
    char path[64];
    int r = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/task", pid);
    d = opendir(path);
    if (!d)
        return -errno;
    for (struct dirent *e; (e = readdir(d));) {
        pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

        if (tid > 0 && sched_setscheduler(tid, background ? SCHED_IDLE : SCHED_OTHER, &zero) < 0)
            r = -errno;
    }
    (void)write_number(pid, "autogroup", background ? 19 : 0); /* -ENOENT: no autogroups here */
    return r;
}

int nm_priority_set(pid_t pid, const struct nm_priority *p)
{
    int r = write_number(pid, "oom_score_adj", p->oom_score_adj);

    assert(pid > 0);
    if (p->schedule) {
        int q = schedule(pid, p->background);

        r = r < 0 ? r : q;
    }
    return r;
}

/* A process that forks while it is being visited passes the old values on: the second pass finds
 * the child. */
void nm_priority_set_all(const struct nm_cgroup *cg, pid_t except, const struct nm_priority *p)
{
    _cleanup_free_ char *procs = malloc(PROCS_SIZE);
    char *save = NULL;

    assert(cg && cg->dir_fd >= 0);
    for (int pass = 0; procs && pass < 2; pass++) {
        if (nm_read_file_at(cg->dir_fd, "cgroup.procs", procs, PROCS_SIZE, NULL) < 0)
            return;
        for (char *s = strtok_r(procs, "\n", &save); s; s = strtok_r(NULL, "\n", &save)) {
            pid_t pid = (pid_t)strtol(s, NULL, 10);

            if (pid > 0 && pid != except)
                (void)nm_priority_set(pid, p);
        }
    }
}
