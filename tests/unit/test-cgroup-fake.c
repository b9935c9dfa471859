/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The fake backend. Its directories of plain files also serve to test all functions of cgroup/ that only read and write
 * files: freeze, kill, limits, drift, watches, listing and probing. Needs no root.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "cgroup/backend-fake.h"
#include "cgroup/backend.h"
#include "cgroup/procs.h"
#include "tests/unit/fail-nth.h"
#include "tests/unit/fake-tree.h"
#include "util/clock.h"

#define DEADLINE_USEC (60 * NM_USEC_PER_SEC)

struct fixture {
    sd_event *event;
    struct nm_cgroup_backend *b;
};

static int setup(void **state)
{
    struct nm_cgroup_backend_params params = {.kind = NM_CGROUP_BACKEND_FAKE,
                                              .slice = "nmtest.slice"};
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    assert_true(sd_event_new(&f->event) >= 0);
    params.event = f->event;
    assert_int_equal(nm_cgroup_backend_new(&params, &f->b, NULL), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    nm_cgroup_backend_free(f->b);
    sd_event_unref(f->event);
    free(f);
    return 0;
}

struct answer {
    bool called;
    int result;
    struct nm_cgroup *cg;
    bool has_message;
};

static void on_done(int result, struct nm_cgroup *cg, const char *message, void *userdata)
{
    struct answer *a = userdata;

    assert_false(a->called);
    *a = (struct answer){.called = true, .result = result, .cg = cg,
                         .has_message = message != NULL};
}

/* Runs the loop until *flag or the deadline. */
static void run_until(sd_event *event, const bool *flag)
{
    uint64_t deadline = nm_now_usec() + DEADLINE_USEC;

    while (!*flag && nm_now_usec() < deadline)
        assert_true(sd_event_run(event, 100 * NM_USEC_PER_MSEC) >= 0);
    assert_true(*flag);
}

static struct nm_cgroup *make(struct fixture *f, const char *id, const struct nm_cgroup_limits *l)
{
    struct answer a = {0};

    assert_int_equal(f->b->ops->create(f->b, id, "a test", getpid(), l, on_done, &a), 0);
    run_until(f->event, &a.called);
    assert_int_equal(a.result, 0);
    assert_non_null(a.cg);
    return a.cg;
}

static void assert_file(const struct nm_cgroup *cg, const char *file, const char *expected)
{
    char buf[256];

    assert_int_equal(nm_fake_read(cg, file, buf, sizeof buf), 0);
    assert_string_equal(buf, expected);
}

static void test_a_fake_cgroup_is_created_and_removed(void **state)
{
    struct fixture *f = *state;
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = NULL;
    struct nm_cgroup_events e;
    unsigned n;

    l.memory_max_bytes = 1 << 20;
    cg = make(f, "container_1_000001", &l);
    assert_string_equal(cg->name, "nmtest-container_1_000001.scope");
    assert_file(cg, "memory.max", "1048576");
    assert_int_equal(nm_cgroup_read_events(cg, &e), 0);
    assert_true(e.populated && !e.frozen);
    assert_int_equal(nm_cgroup_n_processes(cg, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(nm_cgroup_freeze(cg, true), 0);
    assert_file(cg, "cgroup.freeze", "1\n");
    assert_int_equal(nm_cgroup_kill(cg), 0);
    assert_file(cg, "cgroup.kill", "1");
    assert_int_equal(nm_cgroup_reclaim(cg, 4096), 0);
    assert_file(cg, "memory.reclaim", "4096 swappiness=200");

    assert_int_equal(f->b->ops->remove(f->b, cg), -EBUSY);
    assert_int_equal(nm_fake_set_events(cg, false, false), 0);
    assert_int_equal(f->b->ops->remove(f->b, cg), 0);
    assert_int_equal(nm_cgroup_read_events(cg, &e), -ENOENT);
    assert_int_equal(nm_cgroup_freeze(cg, false), -ENOENT);
    assert_int_equal(nm_cgroup_kill(cg), -ENOENT);
    assert_int_equal(nm_cgroup_n_processes(cg, &n), -ENOENT);
    assert_int_equal(f->b->ops->remove(f->b, cg), 0);
}

static void test_a_missing_file_does_not_mean_a_removed_cgroup(void **state)
{
    struct fixture *f = *state;
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = make(f, "c1", &NM_CGROUP_LIMITS_NONE);
    struct nm_cgroup_memory_events e = {.oom = 5};

    assert_int_equal(unlinkat(cg->dir_fd, "cgroup.freeze", 0), 0);
    assert_int_equal(nm_cgroup_freeze(cg, true), -EOPNOTSUPP);
    assert_int_equal(unlinkat(cg->dir_fd, "memory.events", 0), 0);
    assert_int_equal(nm_cgroup_read_memory_events(cg, &e), 0);
    assert_int_equal(e.oom, 0);
}

static void test_a_requested_failure_is_returned_by_the_next_call(void **state)
{
    struct fixture *f = *state;
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = make(f, "c1", &NM_CGROUP_LIMITS_NONE);
    struct answer a = {0}, again = {0};

    nm_fake_fail_next(f->b, NM_FAKE_CREATE, -EAGAIN);
    assert_int_equal(f->b->ops->create(f->b, "c2", "", 1, &NM_CGROUP_LIMITS_NONE, on_done, &a), 0);
    run_until(f->event, &a.called);
    assert_int_equal(a.result, -EAGAIN);
    assert_null(a.cg);
    assert_true(a.has_message);
    nm_fake_fail_next(f->b, NM_FAKE_SET_LIMITS, -ENOTCONN);
    assert_int_equal(f->b->ops->set_limits(f->b, cg, &NM_CGROUP_LIMITS_NONE, on_done, &again), 0);
    run_until(f->event, &again.called);
    assert_int_equal(again.result, -ENOTCONN);
    assert_int_equal(nm_fake_n_calls(f->b, NM_FAKE_CREATE), 2);
    /* the callback may be NULL, and the backend may be freed before the answer */
    assert_int_equal(f->b->ops->set_slice_limits(f->b, &NM_CGROUP_LIMITS_NONE, NULL, NULL), 0);
}

static void test_invalid_ids_are_refused(void **state)
{
    static const char *const bad[] = {"", "../x", "a/b", "-x", ".x", "a b", "a\n"};
    struct fixture *f = *state;
    struct answer a = {0};

    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++)
        assert_int_equal(f->b->ops->create(f->b, bad[i], "", 1, &NM_CGROUP_LIMITS_NONE, on_done,
                                           &a), -EINVAL);
    assert_false(a.called);
}

static void test_the_id_is_read_from_the_name_of_the_cgroup(void **state)
{
    static const struct {
        const char *name, *id; /* NULL: not a scope of nmd */
    } cases[] = {
        {"nmtest-container_1_000001.scope", "container_1_000001"},
        {"nmtest-a.scope", "a"},
        {"nmtest-.scope", NULL},
        {"nmtest-a.service", NULL},
        {"nm-a.scope", NULL},
        {"nmtest-a", NULL},
        {"nmtest-..scope", NULL},
        {".scope", NULL},
        {"", NULL},
    };
    struct fixture *f = *state;
    char id[64];

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        int r = nm_cgroup_container_id(f->b, cases[i].name, id, sizeof id);

        if (r != (cases[i].id ? 0 : -EINVAL))
            fail_msg("%s: %d", cases[i].name, r);
        if (r == 0)
            assert_string_equal(id, cases[i].id);
    }
    assert_int_equal(nm_cgroup_container_id(f->b, "nmtest-abcd.scope", id, 4), -EINVAL);
}

static void test_invalid_names_of_slices_are_refused(void **state)
{
    static const char *const bad[] = {"nm", ".slice", "nm.scope", "a/b.slice", "-.slice",
                                      "a-.slice", "a--b.slice", ""};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        struct nm_cgroup_backend *b = NULL;
        _cleanup_free_ char *message = NULL;
        int r = nm_cgroup_backend_new(
            &(struct nm_cgroup_backend_params){.kind = NM_CGROUP_BACKEND_FAKE,
                                               .slice = bad[i]}, &b, &message);

        assert_int_equal(r, -EINVAL);
        assert_null(b);
        assert_non_null(strstr(message, bad[i]));
    }
}

static void on_listed(struct nm_cgroup *cg, const char *id, void *userdata)
{
    unsigned *seen = userdata;

    assert_true(nm_streq(id, "a") || nm_streq(id, "b"));
    *seen |= nm_streq(id, "a") ? 1 : 2;
    nm_cgroup_free(cg);
}

static void test_all_cgroups_are_listed(void **state)
{
    struct fixture *f = *state;
    unsigned seen = 0;

    nm_cgroup_free(make(f, "a", &NM_CGROUP_LIMITS_NONE));
    nm_cgroup_free(make(f, "b", &NM_CGROUP_LIMITS_NONE));
    assert_int_equal(mkdirat(f->b->slice_fd, "stranger.scope", 0755), 0);
    assert_int_equal(f->b->ops->list(f->b, on_listed, &seen), 0);
    assert_int_equal(seen, 3);
}

static void rewrite(const struct nm_cgroup *cg, const char *file, const char *text)
{
    _cleanup_close_ int fd = openat(cg->dir_fd, file, O_WRONLY | O_TRUNC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void test_each_limit_that_has_drifted_is_reported(void **state)
{
    struct fixture *f = *state;
    struct nm_cgroup_limits l = {.memory_max_bytes = (1 << 20) + 1, .memory_low_bytes = 8193, .memory_min_bytes = 4097,
                                 .cpu_weight = 300,
                                 .cpu_quota_millicores = 250,
                                 .pids_max = NM_CGROUP_NONE, .oom_group = true, .io_weight = 7};
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = make(f, "c1", &l);

    /* The kernel returns limits of memory rounded down to pages. */
    rewrite(cg, "memory.max", "1048576\n");
    rewrite(cg, "memory.min", "4096\n");
    rewrite(cg, "memory.low", "8192\n");
    assert_int_equal(nm_cgroup_check_drift(f->b, cg, &l), 0);
    rewrite(cg, "cpu.max", "50000 200000\n"); /* the same rate with a longer period */
    assert_int_equal(nm_cgroup_check_drift(f->b, cg, &l), 0);

    rewrite(cg, "memory.max", "max\n");
    rewrite(cg, "memory.min", "0\n");
    rewrite(cg, "memory.low", "0\n");
    rewrite(cg, "cpu.weight", "100\n");
    rewrite(cg, "cpu.idle", "1\n");
    rewrite(cg, "cpu.max", "max 100000\n");
    rewrite(cg, "memory.oom.group", "0\n");
    rewrite(cg, "io.weight", "default 100\n8:0 1\n");
    assert_int_equal(nm_cgroup_check_drift(f->b, cg, &l), (1 << NM_CGROUP_DRIFT_COUNT) - 1);
    rewrite(cg, "io.weight", "default 7\n8:0 1\n"); /* set for one device by an administrator */
    nm_fake_set_feature(f->b, NM_CGROUP_MEMORY_LIMITS, "no controller");
    assert_int_equal(nm_cgroup_check_drift(f->b, cg, &l),
                     1 << NM_CGROUP_DRIFT_CPU_WEIGHT | 1 << NM_CGROUP_DRIFT_CPU_IDLE |
                         1 << NM_CGROUP_DRIFT_CPU_QUOTA);
    rewrite(cg, "cpu.max", "nonsense\n");
    assert_int_equal(nm_cgroup_check_drift(f->b, cg, &l), -EBADMSG);

    nm_fake_set_feature(f->b, NM_CGROUP_MEMORY_LIMITS, NULL);
    l.cpu_idle = true; /* the weight of an idle group isn't compared */
    assert_int_equal(f->b->ops->set_limits(f->b, cg, &l, NULL, NULL), 0);
    rewrite(cg, "memory.max", "1048576\n");
    rewrite(cg, "memory.min", "4096\n");
    rewrite(cg, "memory.low", "8192\n");
    rewrite(cg, "cpu.weight", "0\n");
    assert_int_equal(nm_cgroup_check_drift(f->b, cg, &l), 0);
}

static void test_the_memory_protection_of_the_slice_is_set(void **state)
{
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    struct fixture *f = *state;
    struct nm_cgroup slice = {.dir_fd = f->b->slice_fd};
    uint64_t is = 1;

    assert_int_equal(nm_cgroup_slice_read_low(f->b, &is), -EOPNOTSUPP); /* the file doesn't exist yet */
    l.memory_low_bytes = 1 << 20;
    assert_int_equal(f->b->ops->set_slice_limits(f->b, &l, NULL, NULL), 0);
    assert_int_equal(nm_cgroup_slice_read_low(f->b, &is), 0);
    assert_int_equal(is, 1 << 20);
    rewrite(&slice, "memory.low", "max\n");
    assert_int_equal(nm_cgroup_slice_read_low(f->b, &is), 0);
    assert_true(is == NM_CGROUP_NONE);
    rewrite(&slice, "memory.low", "junk\n");
    assert_int_equal(nm_cgroup_slice_read_low(f->b, &is), -EBADMSG);
}

struct seen {
    bool changed, gone;
};

static void on_watch(enum nm_cgroup_watch_kind kind, bool gone, void *userdata)
{
    struct seen *s = userdata;

    (void)kind;
    s->changed = true;
    s->gone = s->gone || gone;
}

static void test_a_watch_reports_each_event(void **state)
{
    struct fixture *f = *state;
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = make(f, "c1", &NM_CGROUP_LIMITS_NONE);
    _cleanup_(nm_cgroup_watch_freep) struct nm_cgroup_watch *events = NULL, *memory = NULL,
                                                            *late = NULL;
    const struct nm_cgroup_memory_events oom = {.oom_kill = 1};
    struct seen e = {0}, m = {0};

    assert_int_equal(nm_cgroup_watch_new(f->event, cg, NM_CGROUP_WATCH_EVENTS, on_watch, &e,
                                         &events), 0);
    assert_int_equal(nm_cgroup_watch_new(f->event, cg, NM_CGROUP_WATCH_MEMORY_EVENTS, on_watch, &m,
                                         &memory), 0);
    assert_int_equal(nm_fake_set_memory_events(cg, &oom), 0);
    run_until(f->event, &m.changed);
    assert_false(e.changed);
    assert_int_equal(nm_fake_set_events(cg, false, false), 0);
    run_until(f->event, &e.changed);
    assert_int_equal(f->b->ops->remove(f->b, cg), 0);
    run_until(f->event, &e.gone);
    assert_int_equal(nm_cgroup_watch_new(f->event, cg, NM_CGROUP_WATCH_EVENTS, on_watch, &e, &late),
                     -ENOENT);
}

static void on_watch_free_itself(enum nm_cgroup_watch_kind kind, bool gone, void *userdata)
{
    struct nm_cgroup_watch **w = userdata;

    (void)kind;
    (void)gone;
    *w = nm_cgroup_watch_free(*w);
}

static void test_a_watch_can_be_freed_in_its_callback(void **state)
{
    struct fixture *f = *state;
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = make(f, "c1", &NM_CGROUP_LIMITS_NONE);
    struct nm_cgroup_watch *w;
    uint64_t deadline = nm_now_usec() + DEADLINE_USEC;

    assert_int_equal(nm_cgroup_watch_new(f->event, cg, NM_CGROUP_WATCH_EVENTS, on_watch_free_itself,
                                         &w, &w), 0);
    assert_int_equal(nm_fake_set_events(cg, false, true), 0);
    while (w && nm_now_usec() < deadline)
        assert_true(sd_event_run(f->event, 100 * NM_USEC_PER_MSEC) >= 0);
    assert_null(w);
}

static int add_up(pid_t pid, void *userdata)
{
    *(long *)userdata += pid;
    return 0;
}

static int stop_at_3(pid_t pid, void *userdata)
{
    (void)userdata;
    return pid == 3 ? -ECANCELED : 0;
}

static void test_the_processes_of_a_cgroup_are_listed(void **state)
{
    struct fixture *f = *state;
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = make(f, "c1", &NM_CGROUP_LIMITS_NONE);
    _cleanup_close_ int sub = -EBADF;
    long sum = 0;

    rewrite(cg, "cgroup.procs", "1\n0\n2\n300");
    assert_int_equal(mkdirat(cg->dir_fd, "sub", 0755), 0);
    sub = openat(cg->dir_fd, "sub", O_RDONLY | O_DIRECTORY);
    assert_true(sub >= 0);
    nm_close(openat(sub, "cgroup.procs", O_CREAT | O_WRONLY, 0644));
    rewrite(&(struct nm_cgroup){.dir_fd = sub}, "cgroup.procs", "4000\n");
    assert_int_equal(nm_procs_walk(cg->dir_fd, add_up, &sum), 0);
    assert_int_equal(sum, 4303);
    rewrite(cg, "cgroup.procs", "1\n3\n5\n");
    assert_int_equal(nm_procs_walk(cg->dir_fd, stop_at_3, NULL), -ECANCELED);
    rewrite(cg, "cgroup.procs", "12x\n");
    assert_int_equal(nm_procs_walk(cg->dir_fd, add_up, &sum), -EBADMSG);
    rewrite(cg, "cgroup.procs", "99999999999\n");
    assert_int_equal(nm_procs_walk(cg->dir_fd, add_up, &sum), -EBADMSG);
    assert_int_equal(nm_procs_prune(cg->dir_fd), -EBUSY);
    assert_int_equal(unlinkat(sub, "cgroup.procs", 0), 0);
    assert_int_equal(nm_procs_prune(cg->dir_fd), 0);
    assert_int_equal(faccessat(cg->dir_fd, "sub", F_OK, 0), -1);
}

static void put(int dir_fd, const char *file, const char *text)
{
    nm_close(openat(dir_fd, file, O_CREAT | O_WRONLY, 0644));
    rewrite(&(struct nm_cgroup){.dir_fd = dir_fd}, file, text);
}

static void test_the_probe_finds_the_available_cgroup_features(void **state)
{
    struct fixture *f = *state;
    _cleanup_free_ char *swaps = NULL;
    struct nm_probe_params p = {.root_fd = f->b->slice_fd, .check_delegation = true,
                                .has_idle_property = true};
    int fd = f->b->slice_fd;

    assert_true(asprintf(&swaps, "%s/swaps", f->b->slice_path) > 0);
    p.swaps = swaps;
    put(fd, "swaps", "Filename Type Size Used Priority\n");

    /* A hybrid host: cgroup2 without controllers. */
    put(fd, "cgroup.controllers", "\n");
    put(fd, "cgroup.subtree_control", "\n");
    put(fd, "cgroup.freeze", "0\n");
    nm_probe_features(f->b, &p);
    assert_true(f->b->feature[NM_CGROUP_FREEZE]);
    assert_null(f->b->missing[NM_CGROUP_FREEZE]);
    for (enum nm_cgroup_feature i = 0; i < NM_CGROUP_FEATURE_COUNT; i++)
        assert_int_equal(f->b->feature[i], i == NM_CGROUP_FREEZE);
    assert_non_null(f->b->missing[NM_CGROUP_NET_PRIORITY]);
    assert_non_null(strstr(f->b->missing[NM_CGROUP_IO_WEIGHT], "no io controller"));
    assert_string_equal(f->b->missing[NM_CGROUP_MEMORY_LIMITS],
                        "not enforced, because this cgroup2 mount has no memory controller; memory is measured from "
                        "/proc, without the memory that only sockets, memfd and tmpfs hold");
    assert_non_null(strstr(f->b->missing[NM_CGROUP_KILL], "one by one"));

    /* Controllers that aren't enabled in subtree_control. */
    put(fd, "cgroup.controllers", "cpu io memory pids\n");
    nm_probe_features(f->b, &p);
    assert_false(f->b->feature[NM_CGROUP_MEMORY_LIMITS]);
    assert_non_null(strstr(f->b->missing[NM_CGROUP_CPU_WEIGHT], "isn't enabled"));

    /* All files exist, but systemd is old and there is no swap. */
    put(fd, "cgroup.subtree_control", "cpu io memory pids\n");
    put(fd, "io.bfq.weight", "default 100\n");
    put(fd, "cpu.idle", "0\n");
    put(fd, "cgroup.kill", "");
    put(fd, "memory.pressure", "");
    put(fd, "memory.reclaim", "");
    put(fd, "memory.swap.max", "max\n");
    p.has_idle_property = false;
    nm_probe_features(f->b, &p);
    for (enum nm_cgroup_feature i = 0; i < NM_CGROUP_FEATURE_COUNT; i++)
        assert_int_equal(f->b->feature[i], i != NM_CGROUP_CPU_IDLE && i != NM_CGROUP_SWAP &&
                                                   i != NM_CGROUP_NET_PRIORITY);
    assert_string_equal(f->b->missing[NM_CGROUP_SWAP], "no swap is configured");

    put(fd, "swaps", "Filename Type Size Used Priority\n/swapfile file 1 0 -2\n");
    p.has_idle_property = true;
    nm_probe_features(f->b, &p);
    for (enum nm_cgroup_feature i = 0; i < NM_CGROUP_FEATURE_COUNT; i++) {
        if (i == NM_CGROUP_NET_PRIORITY) /* depends on the running kernel, not on the tree */
            continue;
        assert_true(f->b->feature[i]);
        assert_null(f->b->missing[i]);
    }
}

static void ignore_call(void *userdata)
{
    (void)userdata;
}

static void test_a_pressure_watch_with_an_invalid_threshold_is_refused(void **state)
{
    struct fixture *f = *state;
    struct nm_psi_watch *w = NULL;
    static const struct {
        uint64_t stall, window;
    } bad[] = {{0, 1000000}, {1000001, 1000000}, {1, 499999}, {1, 10000001}};

    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++)
        assert_int_equal(nm_psi_watch_new(f->event, AT_FDCWD, "/proc/pressure/memory", false,
                                          bad[i].stall, bad[i].window, ignore_call, NULL, &w),
                         -EINVAL);
    assert_int_equal(nm_psi_watch_new(f->event, f->b->slice_fd, "memory.pressure", false, 1,
                                      1000000, ignore_call, NULL, &w),
                     -ENOENT);
    assert_null(w);
}

/* ---- failures -------------------------------------------------------------------------------- */

static bool is_shortage(int r)
{
    return r == -ENOMEM || r == -EMFILE;
}

/* Makes the backend, and fails each allocation once, with or without an event loop. Without a loop the callback is
 * called immediately. */
static void make_or_fail(struct fixture *f, sd_event *event)
{
    const struct nm_cgroup_backend_params params = {
        .kind = NM_CGROUP_BACKEND_FAKE, .slice = "nmtest.slice", .event = event};
    bool failed = true;

    f->b = nm_cgroup_backend_free(f->b);
    for (unsigned n = 1; failed; n++) {
        _cleanup_free_ char *message = NULL;
        int r;

        fail_nth(FAIL_MEMORY | FAIL_OPEN, n);
        r = nm_cgroup_backend_new(&params, &f->b, &message);
        failed = fail_stop();
        assert_int_equal(r == 0, !failed);
        assert_true(r == 0 || is_shortage(r));
        assert_true((f->b != NULL) == (r == 0));
    }
}

static void create_or_fail(struct fixture *f)
{
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    bool failed = true;

    l.io_weight = 7;
    for (unsigned n = 1; failed; n++) {
        struct answer a = {0};
        char id[16];
        int r;

        (void)snprintf(id, sizeof id, "c%u", n);
        fail_nth(FAIL_MEMORY | FAIL_OPEN | FAIL_EVENT, n);
        r = f->b->ops->create(f->b, id, "a test", getpid(), &l, on_done, &a);
        failed = fail_stop();
        assert_true(r == 0 || is_shortage(r));
        if (r < 0) {
            assert_false(a.called);
            continue;
        }
        run_until(f->event, &a.called);
        assert_true(a.result == 0 || is_shortage(a.result) || a.result == -EIO);
        assert_true((a.cg != NULL) == (a.result == 0));
        nm_cgroup_free(a.cg);
    }
}

static void test_a_failed_allocation_leaves_no_cgroup(void **state)
{
    struct fixture *f = *state;

    make_or_fail(f, f->event);
    create_or_fail(f);
    make_or_fail(f, NULL);
    create_or_fail(f);
}

/* The files may be in a given directory that an earlier backend used. Callbacks that have not been called when the
 * backend is freed are never called. */
static void test_the_fake_backend_uses_a_given_directory(void **state)
{
    struct nm_cgroup_backend_params params = {.kind = NM_CGROUP_BACKEND_FAKE, .slice = "nmtest.slice"};
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    struct fixture *f = *state;
    _cleanup_free_ char *message = NULL;
    struct answer a = {0}, second = {0};
    struct fake_tree dir;

    fake_tree_init(&dir);
    fake_tree_write(&dir, "nmtest.slice/here", "");
    params.cgroup_root = dir.path;
    params.event = f->event;
    nm_cgroup_backend_free(f->b);
    assert_int_equal(nm_cgroup_backend_new(&params, &f->b, NULL), 0);
    assert_int_equal(f->b->ops->create(f->b, "c1", "", getpid(), &l, on_done, &a), 0);
    run_until(f->event, &a.called);
    assert_int_equal(f->b->ops->create(f->b, "c1", "", getpid(), &l, on_done, &second), 0);
    assert_int_equal(f->b->ops->create(f->b, "c2", "", getpid(), &l, NULL, NULL), 0);
    run_until(f->event, &second.called);
    assert_int_equal(second.result, -EEXIST);
    assert_null(second.cg);
    second = (struct answer){0};
    assert_int_equal(f->b->ops->set_limits(f->b, a.cg, &l, on_done, &second), 0);
    assert_int_equal(f->b->ops->set_slice_limits(f->b, &l, on_done, &second), 0);
    f->b = nm_cgroup_backend_free(f->b);
    assert_false(second.called);
    nm_cgroup_free(a.cg);
    assert_true(fake_tree_has(&dir, "nmtest.slice/nmtest-c1.scope/cgroup.procs")); /* not removed */
    fake_tree_done(&dir);
    params.cgroup_root = "/nonexistent";
    assert_int_equal(nm_cgroup_backend_new(&params, &f->b, &message), -ENOENT);
    assert_string_equal(message, "making a fake cgroup tree: No such file or directory");
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_fake_cgroup_is_created_and_removed),
        TEST(test_a_missing_file_does_not_mean_a_removed_cgroup),
        TEST(test_a_requested_failure_is_returned_by_the_next_call),
        TEST(test_invalid_ids_are_refused),
        TEST(test_the_id_is_read_from_the_name_of_the_cgroup),
        TEST(test_a_failed_allocation_leaves_no_cgroup),
        TEST(test_the_fake_backend_uses_a_given_directory),
        cmocka_unit_test(test_invalid_names_of_slices_are_refused),
        TEST(test_all_cgroups_are_listed),
        TEST(test_each_limit_that_has_drifted_is_reported),
        TEST(test_the_memory_protection_of_the_slice_is_set),
        TEST(test_a_watch_reports_each_event),
        TEST(test_the_processes_of_a_cgroup_are_listed),
        TEST(test_a_watch_can_be_freed_in_its_callback),
        TEST(test_the_probe_finds_the_available_cgroup_features),
        TEST(test_a_pressure_watch_with_an_invalid_threshold_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
