/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Kills and signals whole cgroups.
 *
 * cgroup.kill (kernel 5.14) is preferred: it is atomic against forks, recursive, and works on frozen groups. Without
 * cgroup.kill the group is frozen first, so that no process can fork between two reads of the list; SIGKILL also ends a
 * frozen v2 task. Each process is opened as a pidfd, *then* checked to be in this cgroup, then signalled: so a recycled
 * process id cannot hit an unrelated process.
 */

#include "cgroup/cgroup.h"

#include <assert.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cgroup/attr.h"
#include "cgroup/procs.h"
#include "util/log.h"

/* The list may grow during the walk if the group cannot be frozen. After this many rounds the caller handles the rest:
 * it waits for "populated 0" and calls again. */
#define KILL_ROUNDS 8

/* Maximum number of processes that one round of a kill signals, because one signal takes some 20 us. */
#define SIGNALS_MAX 4096u

struct target {
    const struct nm_cgroup *cg;
    int sig;
    pid_t except;
    unsigned max, n_seen, n_signalled; /* max: limit for n_seen */
};

static int signal_one(pid_t pid, void *userdata)
{
    struct target *t = userdata;
    _cleanup_close_ int pidfd = -EBADF;

    assert(pid > 0);
    if (t->n_seen++ >= t->max)
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

int nm_cgroup_signal(sd_event *event, const struct nm_cgroup *cg, int sig, pid_t except, struct nm_procs_pass **p)
{
    struct target t = {.cg = cg, .sig = sig, .except = except, .max = UINT_MAX};

    assert(sig > 0 && except >= 0 && cg->name);
    return nm_procs_pass_begin(p, event, cg->dir_fd, 1, signal_one, &t, sizeof t);
}

static int kill_one_by_one(const struct nm_cgroup *cg)
{
    (void)nm_cgroup_freeze(cg, true);
    for (unsigned round = 0; round < KILL_ROUNDS; round++) {
        struct target t = {.cg = cg, .sig = SIGKILL, .max = SIGNALS_MAX};
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
    (void)nm_attr_write(cg->dir_fd, "cpu.weight", "10000"); /* the kernel's maximum; cpu.idle must be 0 before */
}

int nm_cgroup_kill(const struct nm_cgroup *cg)
{
    int r;

    assert(cg->dir_fd >= 0);
    r = nm_attr_write(cg->dir_fd, "cgroup.kill", "1");
    return r == -EOPNOTSUPP ? kill_one_by_one(cg) : r;
}

/* A list that fills this buffer has some 300 tasks. A kill of fewer tasks takes some milliseconds at most. */
#define MANY_TEXT_SIZE 2048

/* Returns whether a kill may take long. The list of threads includes all processes. Cgroups below, which only a
 * privileged container can have, may have any number of tasks. */
static bool has_many_tasks(const struct nm_cgroup *cg)
{
    _cleanup_close_ int fd = openat(cg->dir_fd, "cgroup.threads", O_RDONLY | O_CLOEXEC);
    char text[MANY_TEXT_SIZE];
    struct stat st;

    if (fd < 0)
        return false;
    return read(fd, text, sizeof text) == sizeof text || (fstat(cg->dir_fd, &st) >= 0 && st.st_nlink > 2);
}

/* Runs in the child, which must keep neither nmd's locks nor its sockets. */
static _Noreturn void kill_and_exit(const struct nm_cgroup *cg)
{
    struct nm_cgroup own = *cg;

    own.dir_fd = STDERR_FILENO + 1;
    if (dup2(cg->dir_fd, own.dir_fd) < 0)
        _exit(errno & 0xff);
    closefrom(own.dir_fd + 1);
    _exit(-nm_cgroup_kill(&own) & 0xff);
}

struct killer {
    nm_cgroup_kill_failed_fn_t failed;
    char name[]; /* name of the cgroup, which may no longer exist at the time of the call */
};

static struct killer *killer_new(const char *name, nm_cgroup_kill_failed_fn_t failed)
{
    size_t size = strlen(name) + 1;
    struct killer *k = malloc(sizeof *k + size);

    if (!k)
        return NULL;
    k->failed = failed;
    memcpy(k->name, name, size);
    return k;
}

static int on_killed(sd_event_source *s, const siginfo_t *si, void *userdata)
{
    const struct killer *k = userdata;
    int error = si->si_code == CLD_EXITED ? si->si_status : ECANCELED;

    if (error != 0 && error != ENOENT && error != ENODEV)
        k->failed(k->name, -error);
    return sd_event_source_set_floating(s, false); /* drops the last reference */
}

/* Takes ownership of k on success only. */
static int watch_killer(sd_event *event, pid_t pid, struct killer *k)
{
    sd_event_source *source;
    int r = sd_event_add_child(event, &source, pid, WEXITED, on_killed, k);

    if (r < 0)
        return r;
    (void)sd_event_source_set_destroy_callback(source, free);
    (void)sd_event_source_set_floating(source, true);
    sd_event_source_unref(source);
    return 0;
}

int nm_cgroup_kill_in(sd_event *event, const struct nm_cgroup *cg, nm_cgroup_kill_failed_fn_t failed)
{
    _cleanup_free_ struct killer *k = killer_new(cg->name, failed);
    pid_t pid;

    assert(event && failed);
    if (!k || !has_many_tasks(cg))
        return nm_cgroup_kill(cg);
    pid = fork();
    if (pid < 0)
        return nm_cgroup_kill(cg);
    if (pid == 0)
        kill_and_exit(cg);
    if (watch_killer(event, pid, k) < 0)
        (void)waitpid(pid, NULL, 0);
    else
        k = NULL;
    return 0;
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
