/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tests a backend with a real systemd and real controllers. suites/05-cgroup.sh runs it in the VM, once
 * per backend, as root and as a user. Some features are not available to the user. It prints TAP. It doesn't
 * use cmocka, which a minimal guest doesn't have.
 *
 *   vm-cgroup-backend systemd|direct SLICE
 */

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "cgroup/cgroup.h"
#include "tests/unit/cgroup-answer.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/log.h"

#define DEADLINE_USEC (120 * NM_USEC_PER_SEC) /* the guest may be emulated */
#define MANY 20

static unsigned n_tests, n_failed;
static sd_event *event;
static struct nm_cgroup_backend *b;
static bool is_systemd, is_root;

static void nm_printf(2, 3) check(bool passed, const char *format, ...)
{
    va_list ap;

    n_tests++;
    n_failed += !passed;
    printf("%sok %u - ", passed ? "" : "not ", n_tests);
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    putchar('\n');
    fflush(stdout);
}

static _Noreturn void bail_out(const char *why)
{
    check(false, "the program runs to its end (%s)", why);
    exit(1);
}

typedef bool (*condition_t)(void *userdata);

static bool run_until(condition_t condition, void *userdata)
{
    uint64_t deadline = nm_now_usec() + DEADLINE_USEC;

    while (!condition(userdata)) {
        if (nm_now_usec() >= deadline)
            return false;
        if (sd_event_run(event, 50 * NM_USEC_PER_MSEC) < 0)
            bail_out("sd_event_run failed");
    }
    return true;
}

/* Prints which files have drifted, for the log. */
static int drift(const struct nm_cgroup *cg, const struct nm_cgroup_limits *l)
{
    int mask = nm_cgroup_check_drift(b, cg, l);

    for (enum nm_cgroup_drift d = 0; mask > 0 && d < NM_CGROUP_DRIFT_COUNT; d++) {
        char text[64];

        if (mask & 1 << d &&
            nm_read_file_at(cg->dir_fd, nm_cgroup_drift_file(d), text, sizeof text, NULL) >= 0)
            printf("# %s: %s is %s", cg->name, nm_cgroup_drift_file(d), text);
    }
    return mask;
}

static bool answered(void *userdata)
{
    return ((struct answer *)userdata)->n_calls > 0;
}

/* Waits for the end of an operation whose start returned r. */
static int outcome(int r, struct answer *a)
{
    if (r < 0) {
        printf("# the operation failed to start: %s\n", strerror(-r));
        return r;
    }
    if (!run_until(answered, a)) {
        printf("# the operation has no result\n");
        return -ETIMEDOUT;
    }
    if (a->result < 0)
        printf("# %d: %s\n", a->result, a->message);
    return a->n_calls == 1 ? a->result : -EPROTO;
}

static pid_t spawn(void (*body)(void))
{
    pid_t pid = fork();

    if (pid < 0)
        bail_out("fork failed");
    if (pid == 0) {
        alarm(300);
        if (body)
            body();
        for (;;)
            pause();
    }
    return pid;
}

static struct nm_cgroup *create(const char *id, pid_t pid, const struct nm_cgroup_limits *l)
{
    struct answer a = {0};
    int r = outcome(b->ops->create(b, id, "a \"test\" of 100% \xff", pid, l, on_done, &a), &a);

    check(r == 0 && a.cg, "create %s", id);
    if (!a.cg)
        bail_out("no cgroup");
    return a.cg;
}

static int set_limits(const struct nm_cgroup *cg, const struct nm_cgroup_limits *l)
{
    struct answer a = {0};

    return outcome(b->ops->set_limits(b, cg, l, on_done, &a), &a);
}

static bool is_gone(void *userdata)
{
    struct nm_cgroup *cg = userdata;
    struct nm_cgroup_events e;

    if (nm_cgroup_read_events(cg, &e) == -ENOENT)
        return true;
    (void)b->ops->remove(b, cg);
    return false;
}

static void clear(struct nm_cgroup *cg, pid_t pid)
{
    (void)nm_cgroup_kill(cg);
    (void)waitpid(pid, NULL, 0);
    check(run_until(is_gone, cg), "%s is removed", cg->name);
    nm_cgroup_free(cg);
}

static struct nm_cgroup_limits guaranteed(void)
{
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;

    l.memory_max_bytes = l.memory_low_bytes = (64 << 20) + 100; /* not a whole page */
    l.memory_min_bytes = (32 << 20) + 100;
    l.cpu_weight = 2500;
    l.cpu_quota_millicores = 1500;
    l.pids_max = 100;
    l.oom_group = true;
    return l;
}

static struct nm_cgroup_limits opportunistic(void)
{
    struct nm_cgroup_limits l = guaranteed();

    l.memory_low_bytes = l.memory_min_bytes = 0;
    l.cpu_idle = true;
    l.cpu_quota_millicores = 5; /* below the shortest quota per 100 ms */
    return l;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_features(void)
{
    for (enum nm_cgroup_feature f = 0; f < NM_CGROUP_FEATURE_COUNT; f++)
        check(b->feature[f] || (!is_root && b->missing[f]), "%s%s%s", nm_cgroup_feature_name(f),
              b->missing[f] ? ": " : "", b->missing[f] ? b->missing[f] : "");
    check(b->feature[NM_CGROUP_MEMORY_LIMITS], "memory limits are available");
    check(nm_streq(b->ops->name, is_systemd ? "systemd" : "direct"), "the backend is %s",
          b->ops->name);
    printf("# slice at %s\n", b->slice_path);
}

static struct nm_cgroup_limits slice_limits(void)
{
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;

    l.memory_max_bytes = 1 << 30;
    l.memory_low_bytes = 512 << 20;
    return l;
}

static bool slice_is_limited(void *userdata)
{
    struct nm_cgroup_limits l = slice_limits();
    struct nm_cgroup *slice = NULL;
    bool limited;

    (void)userdata;
    if (nm_cgroup_open(b->slice_path, b->slice, &slice) < 0)
        return false;
    limited = nm_cgroup_check_drift(b, slice, &l) == 0;
    nm_cgroup_free(slice);
    return limited;
}

static bool slice_low_is(uint64_t bytes)
{
    uint64_t is = 1;

    return nm_cgroup_slice_read_low(b, &is) == 0 && is == bytes;
}

static void test_slice_protection(void)
{
    struct nm_cgroup_limits l = slice_limits();
    struct answer a = {0};
    int fd = openat(b->slice_fd, "memory.low", O_WRONLY | O_CLOEXEC);

    l.memory_low_bytes = 256 << 20;
    check(outcome(b->ops->set_slice_limits(b, &l, on_done, &a), &a) == 0 && slice_low_is(256 << 20),
          "memory.low of the slice is the value that was set");
    check(nm_cgroup_slice_check_drift(b, &l) == 0, "the limits of the slice have not drifted");
    check(fd >= 0 && write(fd, "805306368", 9) == 9 && slice_low_is(768 << 20),
          "memory.low of the slice is the value that another program wrote");
    check(nm_cgroup_slice_check_drift(b, &l) == 1 << NM_CGROUP_DRIFT_MEMORY_LOW, "another program's value is drift");
    (void)close(fd);
    l = slice_limits();
    a = (struct answer){0};
    check(outcome(b->ops->set_slice_limits(b, &l, on_done, &a), &a) == 0 && slice_is_limited(NULL),
          "the slice has its earlier limits again");
}

static void test_slice_limits(void)
{
    struct nm_cgroup_limits l = slice_limits();
    struct answer a = {0};

    check(outcome(b->ops->set_slice_limits(b, &l, on_done, &a), &a) == 0, "limits of the slice can be set");
    check(slice_is_limited(NULL), "the kernel has the limits of the slice");
    test_slice_protection();
}

static void test_limits(void)
{
    struct nm_cgroup_limits g = guaranteed(), o = opportunistic();
    pid_t pid = spawn(NULL);
    struct nm_cgroup *cg = create("container_1_000001", pid, &g);
    unsigned n = 0;

    check(nm_cgroup_n_processes(cg, &n) == 0 && n == 1, "the created cgroup has the process");
    check(drift(cg, &g) == 0, "the kernel has the limits of a guaranteed container");
    check(set_limits(cg, &o) == 0, "limits of an opportunistic container can be set");
    check(drift(cg, &o) == 0, "the kernel has the limits of an opportunistic container");
    check(drift(cg, &g) > 0, "the limits of an opportunistic container differ from those of a guaranteed one");
    check(set_limits(cg, &g) == 0, "limits of a guaranteed container can be set again");
    check(drift(cg, &g) == 0, "the kernel has the limits of a guaranteed container again");

    check(nm_write_file_at(cg->dir_fd, "memory.max", "max") == 0 &&
              nm_write_file_at(cg->dir_fd, "memory.oom.group", "0") == 0,
          "somebody writes to its files");
    check(drift(cg, &g) == (1 << NM_CGROUP_DRIFT_MEMORY_MAX | 1 << NM_CGROUP_DRIFT_OOM_GROUP),
          "limits that another program wrote count as drift");
    check(set_limits(cg, &g) == 0 && drift(cg, &g) == 0, "setting the limits again removes the drift");
    clear(cg, pid);
}

struct seen {
    const struct nm_cgroup *cg;
    struct nm_cgroup_events events;
    struct nm_cgroup_memory_events memory;
    bool gone;
};

static void on_watch(enum nm_cgroup_watch_kind kind, bool gone, void *userdata)
{
    struct seen *s = userdata;

    s->gone = s->gone || gone;
    if (kind == NM_CGROUP_WATCH_EVENTS)
        (void)nm_cgroup_read_events(s->cg, &s->events);
    else
        (void)nm_cgroup_read_memory_events(s->cg, &s->memory);
}

static bool saw_frozen(void *userdata)
{
    return ((struct seen *)userdata)->events.frozen;
}

static bool saw_gone(void *userdata)
{
    struct seen *s = userdata;

    if (!s->gone && !s->events.populated)
        (void)b->ops->remove(b, s->cg);
    return s->gone;
}

static void test_freeze_and_kill(void)
{
    struct nm_cgroup_limits o = opportunistic();
    pid_t pid = spawn(NULL);
    struct nm_cgroup *cg = create("c-freeze", pid, &o);
    struct seen s = {.cg = cg, .events.populated = true};
    struct nm_cgroup_watch *w = NULL;

    check(nm_cgroup_watch_new(event, cg, NM_CGROUP_WATCH_EVENTS, on_watch, &s, &w) == 0,
          "cgroup.events can be watched");
    check(nm_cgroup_freeze(cg, true) == 0 && run_until(saw_frozen, &s),
          "the cgroup is frozen, and the watch reports this");
    check(set_limits(cg, &o) == 0 && nm_cgroup_read_events(cg, &s.events) == 0 && s.events.frozen,
          "a frozen cgroup stays frozen when its limits change");
    check(nm_cgroup_kill(cg) == 0, "the frozen cgroup can be killed");
    (void)waitpid(pid, NULL, 0);
    check(run_until(saw_gone, &s), "the watch reports that the killed cgroup is empty");
    nm_cgroup_watch_free(w);
    nm_cgroup_free(cg);
}

/* Acts like nmd's shim: the OOM killer can't choose it, so it keeps the cgroup with its counters when the other
 * processes are killed. */
static void shim_with_eater(void)
{
    volatile char *p;

    if (nm_write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", "-1000") < 0)
        _exit(1);
    raise(SIGSTOP); /* stopped until it is in its cgroup */
    if (fork() > 0)
        return;
    (void)nm_write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", "1000");
    p = mmap(NULL, 256 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; p != MAP_FAILED && i < 256 << 20; i += 4096)
        p[i] = 1;
    _exit(0);
}

static int manager(const char *verb)
{
    char command[200];

    (void)snprintf(command, sizeof command, "systemctl %s%s", is_root ? "" : "--user ", verb);
    return system(command);
}

static bool systemctl_prints(const char *verb, const char *unit)
{
    char command[160];

    (void)snprintf(command, sizeof command, "%s --quiet %s", verb, unit);
    return manager(command) == 0;
}

static bool saw_oom_kill(void *userdata)
{
    return ((struct seen *)userdata)->memory.oom_kill > 0;
}

static bool saw_group_kill(void *userdata)
{
    return ((struct seen *)userdata)->memory.oom_group_kill > 0;
}

static void test_oom(void)
{
    struct nm_cgroup_limits o = opportunistic();
    struct nm_cgroup_watch *w = NULL;
    struct nm_cgroup *cg;
    struct seen s = {0};
    pid_t pid = spawn(shim_with_eater);

    o.cpu_quota_millicores = NM_CGROUP_NONE;
    o.memory_max_bytes = 32 << 20;
    s.cg = cg = create("c-oom", pid, &o);
    /* Disables swap for the cgroup; otherwise the guest's swap takes all the memory before the limit is reached. */
    check(nm_write_file_at(cg->dir_fd, "memory.swap.max", "0") == 0, "swap can be disabled for the cgroup");
    check(nm_cgroup_watch_new(event, cg, NM_CGROUP_WATCH_MEMORY_EVENTS, on_watch, &s, &w) == 0,
          "memory watch");
    kill(pid, SIGCONT);
    check(run_until(saw_oom_kill, &s), "the watch reports a kill at the memory limit");
    check(run_until(saw_group_kill, &s), "all processes of the cgroup are killed"); /* counted a moment later */
    if (is_systemd) /* systemd has been notified by now, and must not act */
        check(systemctl_prints("is-active", cg->name) && systemctl_prints("is-active", cg->name),
              "systemd does not stop the scope after the OOM kill");
    check(waitpid(pid, NULL, WNOHANG) == 0, "the process that acts like the shim is not killed");
    nm_cgroup_watch_free(w);
    clear(cg, pid);
}

static void test_dead_process(void)
{
    struct nm_cgroup_limits l = guaranteed();
    pid_t pid = spawn(NULL);
    struct answer a = {0};

    kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    check(outcome(b->ops->create(b, "c-dead", "", pid, &l, on_done, &a), &a) == -ESRCH && !a.cg,
          "creating a cgroup for a process that has ended fails with ESRCH");
}

static void test_name_taken(void)
{
    struct nm_cgroup_limits l = guaranteed();
    pid_t pid = spawn(NULL), late = spawn(NULL);
    struct nm_cgroup *cg = create("c-taken", pid, &l);
    struct answer a = {0};

    check(outcome(b->ops->create(b, "c-taken", "", late, &l, on_done, &a), &a) == -EEXIST && !a.cg,
          "creating a cgroup with a used name fails with EEXIST");
    check(waitpid(pid, NULL, WNOHANG) == 0, "the process of the first cgroup with this name keeps running");
    kill(late, SIGKILL);
    (void)waitpid(late, NULL, 0);
    clear(cg, pid);
}

struct limited {
    struct nm_cgroup *cg;
    struct nm_cgroup_limits l;
};

static bool has_limits(void *userdata)
{
    struct limited *x = userdata;

    return nm_cgroup_check_drift(b, x->cg, &x->l) == 0;
}

static void count_one(struct nm_cgroup *cg, const char *id, void *userdata)
{
    (void)id;
    ++*(unsigned *)userdata;
    nm_cgroup_free(cg);
}

static bool all_answered(void *userdata)
{
    struct answer *a = userdata;

    for (unsigned i = 0; i < MANY; i++)
        if (a[i].n_calls == 0)
            return false;
    return true;
}

static bool all_gone(void *userdata)
{
    struct answer *a = userdata;

    for (unsigned i = 0; i < MANY; i++)
        if (a[i].cg && !is_gone(a[i].cg))
            return false;
    return true;
}

/* Creates many cgroups at the same time. `during`, if given, is a command that runs meanwhile. */
static void test_many(const char *what, const char *during)
{
    struct limited limited = {.l = opportunistic()};
    struct answer a[MANY] = {0};
    pid_t pids[MANY];
    unsigned n_ok = 0, n_listed = 0, n_drift = 0;
    uint64_t begun = nm_now_usec();
    char id[64];

    for (unsigned i = 0; i < MANY; i++) {
        int r;

        (void)snprintf(id, sizeof id, "c-%s%u", what, i);
        pids[i] = spawn(NULL);
        if (i == MANY / 2 && during && fork() == 0)
            _exit(system(during) == 0 ? 0 : 1);
        r = b->ops->create(b, id, "one of many", pids[i], &limited.l, on_done, &a[i]);
        while (r == -ENOTCONN && nm_now_usec() - begun < DEADLINE_USEC) {
            (void)sd_event_run(event, 50 * NM_USEC_PER_MSEC);
            r = b->ops->create(b, id, "one of many", pids[i], &limited.l, on_done, &a[i]);
        }
        if (r < 0)
            check(false, "create %s: %s", id, strerror(-r));
    }
    check(run_until(all_answered, a), "each of %d simultaneous creations%s%s has a result", MANY,
          during ? ", during " : "", during ? during : "");
    printf("# %" PRIu64 " ms\n", (nm_now_usec() - begun) / 1000);
    for (unsigned i = 0; i < MANY; i++) {
        n_ok += a[i].n_calls == 1 && a[i].result == 0 && a[i].cg;
        if (a[i].result < 0)
            printf("# %s\n", a[i].message);
        limited.cg = a[i].cg;
        n_drift += a[i].cg && !run_until(has_limits, &limited);
    }
    check(n_ok == MANY, "all %d cgroups are created (%u)", MANY, n_ok);
    check(n_drift == 0, "all cgroups have their limits");
    check(b->ops->list(b, count_one, &n_listed) == 0 && n_listed == MANY, "all cgroups are listed");
    for (unsigned i = 0; i < MANY; i++)
        kill(pids[i], SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    check(run_until(all_gone, a), "all cgroups are removed");
    for (unsigned i = 0; i < MANY; i++)
        nm_cgroup_free(a[i].cg);
}

static void hold_memory(void)
{
    volatile char *p = mmap(NULL, 48 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                            0);

    raise(SIGSTOP);
    for (size_t i = 0; p != MAP_FAILED && i < 48 << 20; i += 4096)
        p[i] = 1;
    raise(SIGSTOP);
}

static bool is_stopped(void *userdata)
{
    int status;

    return waitpid(*(pid_t *)userdata, &status, WUNTRACED | WNOHANG) > 0 && WIFSTOPPED(status);
}

static uint64_t current(const struct nm_cgroup *cg)
{
    char text[64];

    if (nm_read_file_at(cg->dir_fd, "memory.current", text, sizeof text, NULL) < 0)
        return 0;
    return strtoull(text, NULL, 10);
}

static void test_reclaim(void)
{
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    pid_t pid = spawn(hold_memory);
    struct nm_cgroup *cg;
    uint64_t before, after;
    int r;

    check(run_until(is_stopped, &pid), "the process for the reclaim is stopped at its start");
    cg = create("c-reclaim", pid, &l);
    kill(pid, SIGCONT);
    check(run_until(is_stopped, &pid), "the process for the reclaim has allocated memory");
    check(nm_cgroup_freeze(cg, true) == 0, "the cgroup for the reclaim is frozen");
    before = current(cg);
    r = nm_cgroup_reclaim(cg, 24 << 20);
    after = current(cg);
    check((r == 0 || r == -EAGAIN) && after + (16 << 20) < before,
          "memory is reclaimed (%" PRIu64 " -> %" PRIu64 ")", before, after);
    clear(cg, pid);
}

static void on_pressure(void *userdata)
{
    *(bool *)userdata = true;
}

static void thrash(void)
{
    raise(SIGSTOP);
    for (;;) {
        volatile char *p = mmap(NULL, 96 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                -1, 0);

        for (size_t i = 0; p != MAP_FAILED && i < 96 << 20; i += 4096)
            p[i] = 1;
        (void)munmap((void *)p, 96 << 20);
    }
}

static bool is_set(void *userdata)
{
    return *(bool *)userdata;
}

static void test_pressure(void)
{
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    struct nm_psi_watch *w = NULL;
    bool fired = false;
    pid_t pid = spawn(thrash);
    struct nm_cgroup *cg;

    check(nm_psi_watch_new(event, b->slice_fd, "memory.pressure", false, 50000, 1000000,
                           on_pressure, &fired, &w) == 0,
          "a pressure trigger on the slice");
    l.memory_max_bytes = 32 << 20; /* small, and swap is available, so the container thrashes */
    cg = create("c-pressure", pid, &l);
    kill(pid, SIGCONT);
    check(run_until(is_set, &fired), "the pressure watch reports a container that thrashes");
    clear(cg, pid);
    nm_psi_watch_free(w);
}

static void test_reload(void)
{
    struct limited a = {.l = guaranteed()}, d = {.l = guaranteed()};
    static const char *const verbs[] = {"daemon-reload", "daemon-reexec"};
    pid_t pid = spawn(NULL), other = spawn(NULL);

    a.cg = create("c-reload", pid, &a.l);
    d.cg = create("c-reload2", other, &d.l);
    d.l = opportunistic();
    check(set_limits(d.cg, &d.l) == 0, "one container is demoted");
    check(nm_cgroup_freeze(a.cg, true) == 0, "another container is frozen");
    for (size_t i = 0; i < NM_ARRAY_SIZE(verbs); i++) {
        struct nm_cgroup_events e = {0};

        check(manager(verbs[i]) == 0, "%s", verbs[i]);
        check(run_until(has_limits, &a), "the first container keeps its limits");
        check(run_until(has_limits, &d), "the second container keeps its limits");
        (void)drift(a.cg, &a.l);
        (void)drift(d.cg, &d.l);
        check(nm_cgroup_read_events(a.cg, &e) == 0 && e.frozen, "the frozen container is still frozen");
    }
    clear(a.cg, pid);
    clear(d.cg, other);
}

static void test_slice_stopped(void)
{
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    pid_t pid = spawn(NULL);
    char command[128];
    struct nm_cgroup *cg;

    (void)snprintf(command, sizeof command, "stop %s", b->slice);
    check(manager(command) == 0, "the slice is stopped by another program");
    cg = create("c-after", pid, &l);
    check(faccessat(b->slice_fd, cg->name, F_OK, 0) == 0, "the slice is created again for the next container");
    check(run_until(slice_is_limited, NULL), "the slice has its limits again");
    clear(cg, pid);
}

int main(int argc, char **argv)
{
    struct nm_cgroup_backend_params params = {0};
    char *message = NULL, *path;
    bool is_brief; /* only the tests that depend on the connection to the manager */
    int r;

    if (argc < 3 || argc > 4)
        return 2;
    is_brief = argc == 4;
    nm_log_init(NM_LOG_STDERR);
    nm_log_set_level(LOG_DEBUG);
    is_root = geteuid() == 0;
    is_systemd = nm_streq(argv[1], "systemd");
    params.kind = is_systemd ? NM_CGROUP_BACKEND_SYSTEMD : NM_CGROUP_BACKEND_DIRECT;
    params.slice = argv[2];
    if (sd_event_default(&event) < 0)
        bail_out("no event loop");
    params.event = event;
    r = nm_cgroup_backend_new(&params, &b, &message);
    check(r == 0, "the backend opens%s%s", message ? ": " : "", message ? message : "");
    if (r < 0)
        return 1;

    test_features();
    test_slice_limits();
    test_limits();
    test_freeze_and_kill();
    if (is_root) /* only root's shims can be protected from the OOM killer */
        test_oom();
    test_dead_process();
    test_name_taken();
    if (!is_brief) {
        test_many("many", NULL);
        test_reclaim();
    }
    if (is_root && !is_brief)
        test_pressure();
    if (is_systemd && !is_brief) {
        test_reload();
        test_many("reload", is_root ? "systemctl daemon-reload" : "systemctl --user daemon-reload");
        test_many("reexec", is_root ? "systemctl daemon-reexec" : "systemctl --user daemon-reexec");
    }
    if (is_systemd)
        test_slice_stopped();
    path = strdup(b->slice_path);
    nm_cgroup_backend_free(b);
    for (uint64_t end = nm_now_usec() + DEADLINE_USEC; path && access(path, F_OK) == 0 &&
         nm_now_usec() < end;)
        (void)usleep(10000);
    check(path && access(path, F_OK) < 0, "all cgroups are removed at the end");
    free(path);
    sd_event_unref(event);
    printf("1..%u\n", n_tests);
    return n_failed > 0;
}
