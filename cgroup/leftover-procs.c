/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Finds the processes that remain in a cgroup some time after a kill or a freeze, and whether they hang.
 *
 * The state of a process in /proc is that of its first thread. Another thread may hang, so all threads are checked.
 * vfork() also waits in state D, and a task that reads from a slow disk is in state D from time to time. The caller
 * therefore checks only when such waits should long be over.
 */

#include "cgroup/cgroup.h"

#include <dirent.h>

#include "cgroup/procs.h"
#include "util/fileio.h"

/* Maximum number of threads to check in one turn, because one thread takes some 15 us and a fork bomb has any number of
 * threads. The number is large enough to find a thread that hangs. */
#define THREADS_MAX 1024
#define STAT_SIZE 2048 /* a name of 15 characters and some fifty numbers of up to 20 digits */

struct search {
    struct nm_cgroup_leftover_procs found;
    unsigned n_threads;
};

/* Parses "17 (a) b) D 1 ...": the name may contain any characters, even parentheses. */
static char state_of(const char *stat, char comm[NM_COMM_SIZE])
{
    const char *open = strchr(stat, '('), *close = strrchr(stat, ')');

    if (!open || !close || close < open || close[1] != ' ')
        return '?';
    (void)snprintf(comm, NM_COMM_SIZE, "%.*s", (int)(close - open - 1), open + 1);
    return close[2];
}

static bool hangs(int task_fd, const char *tid, char comm[NM_COMM_SIZE])
{
    char name[300], stat[STAT_SIZE];

    (void)snprintf(name, sizeof name, "%s/stat", tid);
    return nm_read_file_at(task_fd, name, stat, sizeof stat, NULL) >= 0 && state_of(stat, comm) == 'D';
}

static bool any_hangs(struct search *s, DIR *tasks, char comm[NM_COMM_SIZE])
{
    for (const struct dirent *de; (de = readdir(tasks)) && s->n_threads < THREADS_MAX;) {
        if (de->d_name[0] == '.')
            continue;
        s->n_threads++;
        if (hangs(dirfd(tasks), de->d_name, comm))
            return true;
    }
    return false;
}

static int inspect_process(pid_t pid, void *userdata)
{
    struct search *s = userdata;
    _cleanup_closedir_ DIR *tasks = NULL;
    char path[40], comm[NM_COMM_SIZE];

    s->found.n++;
    if (s->n_threads++ >= THREADS_MAX)
        return 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    if (!tasks || !any_hangs(s, tasks, comm))
        return 0;
    if (s->found.n_hanging++ == 0) {
        s->found.hanging = pid;
        memcpy(s->found.comm, comm, sizeof comm);
    }
    return 0;
}

int nm_cgroup_leftover_procs(const struct nm_cgroup *cg, struct nm_cgroup_leftover_procs *ret)
{
    struct search s = {0};
    int r = nm_procs_walk(cg->dir_fd, inspect_process, &s);

    if (r < 0)
        return r;
    *ret = s.found; /* if there were too many cgroups, the count covers only the visited cgroups */
    return 0;
}

void nm_cgroup_leftover_procs_print(const struct nm_cgroup_leftover_procs *s, char *buf, size_t size)
{
    if (s->n_hanging > 0)
        (void)snprintf(buf, size, "%u of its processes hang%s in the kernel (state D), for example %d "
                                  "(%s)", s->n_hanging,
                       s->n_hanging == 1 ? "s" : "", (int)s->hanging, s->comm);
    else
        (void)snprintf(buf, size, "%u of its processes still %s, but no process hangs in the kernel", s->n,
                       s->n == 1 ? "exists" : "exist");
}
