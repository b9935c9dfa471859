/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The direct backend on this machine's real cgroup2 mount, with real processes: cgroups are made, frozen, killed while
 * frozen and removed, and watches report each step. Controllers aren't needed. The tests are skipped if this process
 * may not make cgroups.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <linux/sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cgroup/backend.h"
#include "cgroup/procs.h"
#include "tests/unit/cgroup-answer.h"
#include "util/clock.h"
#include "util/fileio.h"

#define DEADLINE_USEC (60 * NM_USEC_PER_SEC)

struct fixture {
    sd_event *event;
    struct nm_cgroup_backend *b;
};

static int open_backend(struct fixture *f, char **ret_message)
{
    struct nm_cgroup_backend_params params;
    char slice[64];

    (void)snprintf(slice, sizeof slice, "nmtest-direct%d.slice", (int)getpid());
    params = (struct nm_cgroup_backend_params){
        .kind = NM_CGROUP_BACKEND_DIRECT, .slice = slice, .event = f->event};
    return nm_cgroup_backend_new(&params, &f->b, ret_message);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    assert_true(sd_event_new(&f->event) >= 0);
    assert_int_equal(open_backend(f, NULL), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    _cleanup_free_ char *path = strdup(f->b->slice_path);

    nm_cgroup_backend_free(f->b);
    sd_event_unref(f->event);
    free(f);
    assert_int_equal(access(path, F_OK), -1); /* the slice was removed */
    return 0;
}

/* Starts a process that sleeps until it is killed, but for a minute at most. */
static pid_t spawn(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        for (;;)
            pause();
    }
    return pid;
}

static struct nm_cgroup *create(struct fixture *f, const char *id, pid_t pid)
{
    struct answer a = {0};

    assert_int_equal(f->b->ops->create(f->b, id, "a test", pid, &NM_CGROUP_LIMITS_NONE, on_done,
                                       &a), 0);
    if (a.n_calls != 1 || a.result != 0)
        fail_msg("create: %d calls, %d, %s", a.n_calls, a.result, a.message);
    assert_non_null(a.cg);
    return a.cg;
}

static int reap(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

struct seen {
    const struct nm_cgroup *cg;
    struct nm_cgroup_events events;
    bool gone;
};

static void on_watch(enum nm_cgroup_watch_kind kind, bool gone, void *userdata)
{
    struct seen *s = userdata;

    assert_int_equal(kind, NM_CGROUP_WATCH_EVENTS);
    s->gone = gone;
    if (!gone)
        assert_int_equal(nm_cgroup_read_events(s->cg, &s->events), 0);
}

static void run_until(sd_event *event, const bool *flag, bool value)
{
    uint64_t deadline = nm_now_usec() + DEADLINE_USEC;

    while (*flag != value && nm_now_usec() < deadline)
        assert_true(sd_event_run(event, 100 * NM_USEC_PER_MSEC) >= 0);
    assert_int_equal(*flag, value);
}

/* Kills all processes in cg and removes it. */
static void clear(struct fixture *f, struct nm_cgroup *cg)
{
    uint64_t deadline = nm_now_usec() + DEADLINE_USEC;
    int r;

    assert_int_equal(nm_cgroup_kill(cg), 0);
    do
        r = f->b->ops->remove(f->b, cg);
    while (r == -EBUSY && nm_now_usec() < deadline);
    assert_int_equal(r, 0);
}

static void test_a_cgroup_is_created_watched_and_removed(void **state)
{
    struct fixture *f = *state;
    pid_t pid = spawn();
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = create(f, "container_1_000001", pid);
    _cleanup_(nm_cgroup_watch_freep) struct nm_cgroup_watch *w = NULL;
    struct seen s = {.cg = cg, .events.populated = true};
    unsigned n = 0;

    assert_int_equal(nm_cgroup_n_processes(cg, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(nm_cgroup_watch_new(f->event, cg, NM_CGROUP_WATCH_EVENTS, on_watch, &s, &w),
                     0);
    assert_int_equal(nm_cgroup_freeze(cg, true), 0);
    run_until(f->event, &s.events.frozen, true);
    assert_true(s.events.populated);
    assert_int_equal(nm_cgroup_freeze(cg, false), 0);
    run_until(f->event, &s.events.frozen, false);
    assert_int_equal(nm_cgroup_freeze(cg, true), 0);
    run_until(f->event, &s.events.frozen, true);

    assert_int_equal(f->b->ops->remove(f->b, cg), -EBUSY);
    assert_int_equal(nm_cgroup_kill(cg), 0);
    assert_int_equal(WTERMSIG(reap(pid)), SIGKILL);
    run_until(f->event, &s.events.populated, false);
    assert_int_equal(f->b->ops->remove(f->b, cg), 0);
    run_until(f->event, &s.gone, true);
    assert_int_equal(nm_cgroup_read_events(cg, &s.events), -ENOENT);
    assert_int_equal(nm_cgroup_kill(cg), -ENOENT);
    assert_int_equal(f->b->ops->remove(f->b, cg), 0);
}

/* The watch must not call its callback between changes. A watch that is not re-armed would keep the loop busy. */
static void test_a_watch_does_not_call_its_callback_between_changes(void **state)
{
    struct fixture *f = *state;
    pid_t pid = spawn();
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = create(f, "c1", pid);
    _cleanup_(nm_cgroup_watch_freep) struct nm_cgroup_watch *w = NULL;
    struct seen s = {.cg = cg, .events.populated = true};

    assert_int_equal(nm_cgroup_watch_new(f->event, cg, NM_CGROUP_WATCH_EVENTS, on_watch, &s, &w),
                     0);
    assert_int_equal(nm_cgroup_freeze(cg, true), 0);
    run_until(f->event, &s.events.frozen, true);
    assert_int_equal(sd_event_run(f->event, 50 * NM_USEC_PER_MSEC), 0);
    clear(f, cg);
    reap(pid);
}

static void test_a_signal_can_exclude_one_process(void **state)
{
    struct fixture *f = *state;
    pid_t spared = spawn(), other = spawn(), more;
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = create(f, "c1", spared);
    _cleanup_(nm_procs_pass_freep) struct nm_procs_pass *pass = NULL;
    char text[16];

    (void)snprintf(text, sizeof text, "%d", (int)other);
    assert_int_equal(nm_write_file_at(cg->dir_fd, "cgroup.procs", text), 0);
    /* processes of a subgroup belong to the container, too */
    assert_int_equal(mkdirat(cg->dir_fd, "sub", 0755), 0);
    more = spawn();
    (void)snprintf(text, sizeof text, "%d", (int)more);
    assert_int_equal(nm_write_file_at(cg->dir_fd, "sub/cgroup.procs", text), 0);

    assert_int_equal(nm_cgroup_signal(f->event, cg, SIGTERM, spared, &pass), 0);
    while (nm_procs_pass_is_on(pass))
        assert_true(sd_event_run(f->event, UINT64_MAX) >= 0);
    assert_int_equal(WTERMSIG(reap(other)), SIGTERM);
    assert_int_equal(WTERMSIG(reap(more)), SIGTERM);
    assert_int_equal(waitpid(spared, NULL, WNOHANG), 0);
    clear(f, cg);
    assert_int_equal(WTERMSIG(reap(spared)), SIGKILL);
}

/* Imitates a kernel without cgroup.kill by a directory that has only cgroup.procs. The file lists a frozen member and
 * this process. This process isn't a member and must not be signalled, although its id is listed. In the same way a
 * file may list an id that another process has reused. */
static void test_without_cgroup_kill_the_members_are_signalled(void **state)
{
    struct fixture *f = *state;
    pid_t pid = spawn();
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = create(f, "c1", pid), *old = NULL;
    char dir[] = "/tmp/nmd-test-kill-XXXXXX", text[64];

    assert_non_null(mkdtemp(dir));
    assert_int_equal(nm_cgroup_open(dir, cg->name, &old), 0);
    (void)snprintf(text, sizeof text, "%d\n%d\n", (int)getpid(), (int)pid);
    nm_close(openat(old->dir_fd, "cgroup.procs", O_CREAT | O_WRONLY, 0600));
    assert_int_equal(nm_write_file_at(old->dir_fd, "cgroup.procs", text), 0);
    assert_int_equal(nm_cgroup_freeze(cg, true), 0);
    assert_int_equal(nm_cgroup_kill(old), 0);
    assert_int_equal(WTERMSIG(reap(pid)), SIGKILL);
    clear(f, cg);
    assert_int_equal(unlinkat(old->dir_fd, "cgroup.procs", 0), 0);
    assert_int_equal(rmdir(dir), 0);
}

/* Subgroups that a privileged container has made are removed with its cgroup, at any depth, unless they contain a
 * process. */
static void test_subgroups_are_removed_at_any_depth(void **state)
{
    struct fixture *f = *state;
    pid_t pid = spawn();
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = create(f, "c1", pid);
    char path[PATH_MAX], text[16];

    (void)snprintf(path, sizeof path, "%s", cg->path);
    for (int depth = 0; depth < 40; depth++) {
        (void)strcat(path, "/sub");
        assert_int_equal(mkdir(path, 0755), 0);
    }
    assert_int_equal(mkdirat(cg->dir_fd, "sub/sub/other", 0755), 0);
    (void)strcat(path, "/cgroup.procs");
    (void)snprintf(text, sizeof text, "%d", (int)pid);
    assert_int_equal(nm_write_file_at(AT_FDCWD, path, text), 0);
    assert_int_equal(f->b->ops->remove(f->b, cg), -EBUSY);
    assert_int_equal(access(path, F_OK), 0);
    clear(f, cg);
    reap(pid);
    assert_int_equal(access(cg->path, F_OK), -1);
}

static void test_no_cgroup_is_created_for_a_process_that_has_ended(void **state)
{
    struct fixture *f = *state;
    struct answer a = {0};
    pid_t pid = spawn();

    kill(pid, SIGKILL);
    reap(pid);
    assert_int_equal(f->b->ops->create(f->b, "c1", "", pid, &NM_CGROUP_LIMITS_NONE, on_done, &a),
                     0);
    assert_int_equal(a.n_calls, 1);
    assert_int_equal(a.result, -ESRCH);
    assert_non_null(strstr(a.message, "nmtest-direct"));
    assert_non_null(strstr(a.message, "ended already"));
    assert_null(a.cg);
}

static void test_a_reached_limit_of_cgroups_is_reported(void **state)
{
    struct fixture *f = *state;
    struct answer a = {0};
    pid_t pid = spawn();

    assert_false(nm_backend_is_full(f->b));
    assert_int_equal(nm_write_file_at(f->b->slice_fd, "cgroup.max.depth", "0"), 0);
    assert_true(nm_backend_is_full(f->b));
    assert_int_equal(nm_write_file_at(f->b->slice_fd, "cgroup.max.depth", "1"), 0);
    assert_false(nm_backend_is_full(f->b));
    assert_int_equal(nm_write_file_at(f->b->slice_fd, "cgroup.max.descendants", "0"), 0);
    assert_true(nm_backend_is_full(f->b));
    assert_int_equal(f->b->ops->create(f->b, "c1", "", pid, &NM_CGROUP_LIMITS_NONE, on_done, &a),
                     0);
    assert_int_equal(a.result, -EAGAIN);
    assert_non_null(strstr(a.message, "full"));
    assert_int_equal(nm_write_file_at(f->b->slice_fd, "cgroup.max.descendants", "max"), 0);
    kill(pid, SIGKILL);
    reap(pid);
}

static void test_a_cgroup_with_a_name_in_use_is_not_created(void **state)
{
    struct fixture *f = *state;
    struct answer a = {0};
    pid_t pid = spawn(), late = spawn();
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = create(f, "c1", pid), *second = NULL;

    assert_int_equal(f->b->ops->create(f->b, "c1", "", late, &NM_CGROUP_LIMITS_NONE, on_done, &a),
                     0);
    assert_int_equal(a.result, -EEXIST);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* the first process isn't signalled */
    assert_int_equal(nm_cgroup_kill(cg), 0);
    reap(pid);
    /* the cgroup is empty now, so it can be replaced */
    second = create(f, "c1", late);
    assert_true(second->inode != cg->inode);
    clear(f, second);
    reap(late);
}

static pid_t born_in(const struct nm_cgroup *cg)
{
    struct clone_args args = {.flags = CLONE_INTO_CGROUP,
                              .exit_signal = SIGCHLD,
                              .cgroup = (uint64_t)cg->dir_fd};
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);

    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        for (;;)
            pause();
    }
    return pid;
}

static void test_a_process_stays_in_the_cgroup_where_it_was_born(void **state)
{
    struct fixture *f = *state;
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *early = NULL, *cg = NULL;
    pid_t pid;

    assert_int_equal(f->b->ops->prepare(f->b, "c1", &early), 0);
    pid = born_in(early);
    cg = create(f, "c1", pid);
    assert_true(cg->inode == early->inode);
    assert_true(nm_procs_is_member(pid, cg->name));
    clear(f, cg);
    reap(pid);
}

/* The cgroup was prepared, but the process was born in another cgroup. The backend moves the process. */
static void test_a_process_that_was_born_elsewhere_is_moved(void **state)
{
    struct fixture *f = *state;
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *early = NULL, *cg = NULL;
    pid_t pid = spawn();

    assert_int_equal(f->b->ops->prepare(f->b, "c1", &early), 0);
    cg = create(f, "c1", pid);
    assert_true(nm_procs_is_member(pid, cg->name));
    clear(f, cg);
    reap(pid);
}

static void on_listed(struct nm_cgroup *cg, const char *id, void *userdata)
{
    uint64_t *inode = userdata;

    assert_string_equal(id, "c1");
    *inode = cg->inode;
    nm_cgroup_free(cg);
}

/* A restarted nmd moves a helper into the cgroup that a killed nmd left. This cgroup does not belong to a container,
 * and the backend removes it when the backend is freed. */
static void test_a_restarted_nmd_reuses_the_cgroup_of_a_helper(void **state)
{
    struct fixture *f = *state;
    pid_t pid = spawn();
    char scope[64], path[PATH_MAX];

    (void)snprintf(scope, sizeof scope, "nmtest-direct%d_shuffle.scope", (int)getpid());
    (void)snprintf(path, sizeof path, "%.*s%s", (int)(strlen(f->b->slice_path) - strlen(f->b->slice)),
                   f->b->slice_path, scope);
    assert_int_equal(mkdir(path, 0755), 0);
    for (unsigned i = 0; i < 2; i++) {
        struct answer a = {0};

        assert_int_equal(f->b->ops->attach_helper(f->b, "shuffle", pid, &NM_CGROUP_LIMITS_NONE, on_done, &a), 0);
        if (a.n_calls != 1 || a.result != 0)
            fail_msg("%u calls, %d, %s", a.n_calls, a.result, a.message);
        assert_string_equal(a.cg->path, path);
        assert_true(nm_procs_is_member(pid, scope));
        nm_cgroup_free(a.cg);
        assert_int_equal(kill(pid, SIGKILL), 0);
        (void)reap(pid);
        if (i == 0)
            pid = spawn();
    }
    {
        struct answer a = {0};

        assert_int_equal(f->b->ops->attach_helper(f->b, "shuffle", pid, &NM_CGROUP_LIMITS_NONE, on_done, &a), 0);
        assert_int_equal(a.result, -ESRCH);
        assert_non_null(strstr(a.message, "the process has ended already"));
    }
    assert_int_equal(access(path, F_OK), -1);
}

static void test_a_second_backend_opens_the_cgroup_of_the_first(void **state)
{
    struct fixture *f = *state, again = {.event = f->event};
    pid_t pid = spawn();
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = create(f, "c1", pid);
    uint64_t inode = 0;

    assert_int_equal(open_backend(&again, NULL), 0);
    assert_int_equal(again.b->ops->list(again.b, on_listed, &inode), 0);
    assert_true(inode == cg->inode);
    nm_cgroup_backend_free(again.b); /* doesn't remove the slice, because it isn't empty */
    assert_int_equal(access(cg->path, F_OK), 0);
    clear(f, cg);
    reap(pid);
}

static void test_a_removed_slice_is_created_again(void **state)
{
    struct fixture *f = *state;
    pid_t pid = spawn();
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = NULL;

    assert_int_equal(f->b->ops->set_slice_limits(f->b, &NM_CGROUP_LIMITS_NONE, NULL, NULL), 0);
    assert_int_equal(rmdir(f->b->slice_path), 0);
    cg = create(f, "c1", pid);
    clear(f, cg);
    reap(pid);
}

static void test_the_limits_are_set_in_the_kernel(void **state)
{
    struct fixture *f = *state;
    struct nm_cgroup_limits l = {.memory_max_bytes = 64 << 20, .cpu_idle = true,
                                 .cpu_quota_millicores = 1500, .pids_max = 50, .oom_group = true};
    pid_t pid = spawn();
    struct answer a = {0};
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = create(f, "c1", pid);

    assert_int_equal(f->b->ops->set_limits(f->b, cg, &l, on_done, &a), 0);
    assert_int_equal(a.result, 0);
    assert_int_equal(nm_cgroup_check_drift(f->b, cg, &l), 0);
    l.cpu_idle = false;
    l.cpu_weight = 700;
    a = (struct answer){0};
    assert_int_equal(f->b->ops->set_limits(f->b, cg, &l, on_done, &a), 0);
    assert_int_equal(a.result, 0);
    assert_int_equal(nm_cgroup_check_drift(f->b, cg, &l), 0);
    for (enum nm_cgroup_feature i = 0; i < NM_CGROUP_FEATURE_COUNT; i++)
        assert_int_equal(f->b->feature[i], f->b->missing[i] == NULL);
    clear(f, cg);
    reap(pid);
}

static void on_pressure(void *userdata)
{
    (void)userdata;
}

static void test_pressure_is_read_from_the_cgroup(void **state)
{
    struct fixture *f = *state;
    _cleanup_(nm_psi_watch_freep) struct nm_psi_watch *w = NULL;
    struct nm_psi psi;
    int r;

    r = nm_psi_read(f->b->slice_fd, "memory.pressure", &psi);
    assert_int_equal(r, f->b->feature[NM_CGROUP_PRESSURE] ? 0 : -ENOENT);
    if (r < 0)
        skip();
    assert_int_equal(psi.some.total_usec, 0);
    assert_int_equal(nm_psi_watch_new(f->event, f->b->slice_fd, "memory.pressure", false, 150000,
                                      1000000, on_pressure, NULL, &w),
                     0);
    assert_int_equal(sd_event_run(f->event, 0), 0); /* no process stalls in an empty slice */
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_cgroup_is_created_watched_and_removed),
        TEST(test_a_watch_does_not_call_its_callback_between_changes),
        TEST(test_a_signal_can_exclude_one_process),
        TEST(test_without_cgroup_kill_the_members_are_signalled),
        TEST(test_subgroups_are_removed_at_any_depth),
        TEST(test_no_cgroup_is_created_for_a_process_that_has_ended),
        TEST(test_a_reached_limit_of_cgroups_is_reported),
        TEST(test_a_cgroup_with_a_name_in_use_is_not_created),
        TEST(test_a_process_stays_in_the_cgroup_where_it_was_born),
        TEST(test_a_process_that_was_born_elsewhere_is_moved),
        TEST(test_a_restarted_nmd_reuses_the_cgroup_of_a_helper),
        TEST(test_a_second_backend_opens_the_cgroup_of_the_first),
        TEST(test_a_removed_slice_is_created_again),
        TEST(test_the_limits_are_set_in_the_kernel),
        TEST(test_pressure_is_read_from_the_cgroup),
    };
    _cleanup_free_ char *message = NULL;
    struct fixture probe = {0};

    if (open_backend(&probe, &message) < 0) {
        printf("SKIP: %s\n", message ? message : "no cgroup can be made here");
        return 77;
    }
    nm_cgroup_backend_free(probe.b);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
