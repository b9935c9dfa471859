/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The systemd backend over a real D-Bus connection to a fake service manager, whose answers the test selects. The test
 * checks the requests, and the handling of each answer and of missing answers. tests/vm/cgroup-backend.c uses the real
 * systemd.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>

#include "tests/unit/own-cgroup.h"
#include "tests/unit/systemd-fixture.h"
#include "util/clock.h"
#include "util/error.h"

/* ---- start of the backend -------------------------------------------------------------------- */

static void test_the_backend_starts_the_slice_and_finds_its_features(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(fixture_start(w), 0);
    assert_string_equal(w->b->ops->name, "systemd");
    assert_true(w->b->user_manager && w->b->reports_stops);
    assert_true(w->b->feature[NM_CGROUP_CPU_IDLE]);
    assert_true(w->b->feature[NM_CGROUP_FREEZE]);
    assert_false(w->b->feature[NM_CGROUP_RECLAIM]); /* the kernel has no file for this feature */
    /* Without accounting and a weight, systemd would enable no controllers in the slice. */
    assert_true(fake_systemd_was_called(w->systemd,
                                        "StartTransientUnit nmtest.slice MemoryAccounting=yes CPUAccounting=yes "
                                        "TasksAccounting=yes IOAccounting=yes CPUWeight=100"));
}

static void test_an_older_systemd_is_accepted(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    struct answer a = {0};
    struct nm_cgroup *cg;

    fake_systemd_set_version(w->systemd, "v249.11-0ubuntu3");
    assert_int_equal(fixture_start(w), 0);
    assert_false(w->b->feature[NM_CGROUP_CPU_IDLE]);
    assert_non_null(strstr(w->b->missing[NM_CGROUP_CPU_IDLE], "252"));
    cg = created(w, "c1");
    l.cpu_idle = true;
    assert_int_equal(w->b->ops->set_limits(w->b, cg, &l, on_done, &a), 0);
    run_until_called(w, &a);
    assert_int_equal(a.result, 0);
    assert_true(fake_systemd_was_called(w->systemd, " CPUWeight=1 ")); /* systemd refuses the value 0 */
    nm_cgroup_free(cg);
}

static void test_an_installed_slice_unit_is_used(void **state)
{
    struct fixture *w = *state;

    fake_systemd_install_slice(w->systemd, SLICE);
    assert_int_equal(fixture_start(w), 0);
    assert_true(fake_systemd_was_called(w->systemd, "StartUnit nmtest.slice"));
    assert_true(fake_systemd_was_called(w->systemd, "SetUnitProperties nmtest.slice MemoryAccounting=yes"));
    w->b = nm_cgroup_backend_free(w->b);
    assert_false(fake_systemd_was_called(w->systemd, "StopUnit")); /* the slice was already running */
}

/* A failed start reports its reason and leaves no open resources. */
static void test_a_failed_start_of_the_backend_leaves_no_resources(void **state)
{
    static const struct {
        struct fake_answer answer;
        int r;
        const char *message;
    } cases[] = {
        {{.method = "Get", .error = SD_BUS_ERROR_ACCESS_DENIED}, -EACCES, "no connection to the systemd user manager"},
        {{.method = "Get", .hangs_up = true}, -ECONNRESET, "no connection to the systemd user manager"},
        {{.method = "StartTransientUnit", .error = SD_BUS_ERROR_ACCESS_DENIED}, -EACCES, "can't start nmtest.slice: "},
        {{.method = "StartTransientUnit", .job_result = "failed"}, -EIO, "(job result: failed)"},
        {{.method = "StartTransientUnit", .job_result = "timeout"}, -ETIMEDOUT, "(job result: timeout)"},
        {{.method = "StartTransientUnit", .is_silent = true, .takes_usec = 31 * NM_USEC_PER_SEC}, -ETIMEDOUT,
         "can't start nmtest.slice"},
        {{.method = "StartTransientUnit", .hangs_up = true}, -ENOTCONN, "can't start nmtest.slice"},
        {{.method = "StartTransientUnit", .is_garbage = true}, -ENXIO, "can't start nmtest.slice"},
        {{.method = "StartTransientUnit", .makes_nothing = true}, -ENOENT, "the cgroup of nmtest.slice"},
        {{.method = "SetUnitProperties", .error = SD_BUS_ERROR_INVALID_ARGS}, -EINVAL, "the cgroup of nmtest.slice"},
        {{.method = "SetUnitProperties", .hangs_up = true}, -ECONNRESET, "the cgroup of nmtest.slice"},
    };
    struct fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        int r;

        fake_systemd_set_clock_ahead(0);
        fake_systemd_answer(w->systemd, &cases[i].answer);
        r = fixture_start(w);
        if (r != cases[i].r || !w->message || !strstr(w->message, cases[i].message) || w->b)
            fail_msg("case %zu: %d, %s", i, r, w->message ? w->message : "no message");
        free(w->message);
        w->message = NULL;
        if (fake_tree_has(&w->dir, "root/" SLICE))
            drop_cgroup(w, "");
    }
    assert_int_equal(fixture_start(w), 0); /* the next start of the backend succeeds */
}

static void test_without_systemd_no_backend_starts(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_backend_params params = {
        .kind = NM_CGROUP_BACKEND_SYSTEMD, .slice = SLICE, .cgroup_root = w->root};

    assert_int_equal(nm_cgroup_backend_new(&params, &w->b, &w->message), -EINVAL);
    assert_non_null(strstr(w->message, "event loop"));
    free(w->message);
    fake_systemd_disconnect(w->systemd);
    assert_true(fixture_start(w) < 0);
    assert_non_null(strstr(w->message, "no connection to the systemd user manager"));
    free(w->message);
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    assert_int_equal(fixture_start(w), -ENOENT);
}

static void test_closing_the_backend_stops_only_an_empty_slice(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup *cg = created(w, "c1");

    fake_systemd_clear_calls(w->systemd);
    w->b = nm_cgroup_backend_free(w->b);
    /* the containers keep running after the backend is closed */
    assert_false(fake_systemd_was_called(w->systemd, "StopUnit"));
    nm_cgroup_free(cg);
    drop_cgroup(w, "nmtest-c1.scope");
    assert_int_equal(fixture_start(w), 0);
    fake_tree_write(&w->dir, "root/" SLICE "/cgroup.events", "populated 0\nfrozen 0\n");
    w->b = nm_cgroup_backend_free(w->b);
    assert_true(fake_systemd_was_called(w->systemd, "StopUnit nmtest.slice"));
}

/* ---- creation of scopes ---------------------------------------------------------------------- */

static void test_a_scope_is_created(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_limits l = {.memory_max_bytes = 1 << 20, .memory_low_bytes = 4096, .memory_min_bytes = 0,
                                 .cpu_weight = 250, .cpu_quota_millicores = 1500, .pids_max = 100, .io_weight = 7,
                                 .oom_group = true};
    struct answer a = {0};
    char expected[128];

    (void)snprintf(expected, sizeof expected, " Slice=nmtest.slice PIDs=%d CollectMode=inactive-or-failed "
                   "OOMPolicy=continue", (int)getpid());
    assert_int_equal(w->b->ops->create(w->b, "c1", "a \"job\" \xff\n of 100%", getpid(), &l, on_done, &a), 0);
    assert_int_equal(a.n_calls, 0); /* the call returns before systemd has answered */
    run_until_called(w, &a);
    assert_int_equal(a.result, 0);
    assert_string_equal(a.cg->name, "nmtest-c1.scope");
    assert_true(file_contains(a.cg, "memory.oom.group", "1"));
    assert_true(fake_systemd_was_called(w->systemd,
                                        "StartTransientUnit nmtest-c1.scope Description=a \"job\" ?? of 100%"));
    assert_true(fake_systemd_was_called(w->systemd, expected));
    assert_true(fake_systemd_was_called(w->systemd, " MemoryMax=1048576 MemoryLow=4096 MemoryMin=0 CPUWeight=250 "
                                               "CPUQuotaPerSecUSec=1500000 TasksMax=100 IOWeight=7\n"));
    nm_cgroup_free(a.cg);
    assert_int_equal(w->b->ops->create(w->b, "a/b", "", getpid(), &l, on_done, &a), -EINVAL);
}

static void count_listed(struct nm_cgroup *cg, const char *container_id, void *userdata)
{
    (void)container_id;
    nm_cgroup_free(cg);
    ++*(unsigned *)userdata;
}

/* The scope of a helper is in the root slice and belongs to no container. If such a scope of a killed nmd still exists,
 * nmd waits until it has ended. */
static void test_a_helper_gets_a_separate_scope(void **state)
{
    static const struct fake_answer taken = {.method = "StartTransientUnit",
                                             .error = "org.freedesktop.systemd1.UnitExists"};
    struct fixture *w = *state;
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    unsigned n_listed = 0;
    struct answer a = {0};
    char expected[80];

    l.cpu_weight = 25;
    (void)snprintf(expected, sizeof expected, " Slice=-.slice PIDs=%d CollectMode=", (int)getpid());
    fake_systemd_answer(w->systemd, &taken);
    assert_int_equal(w->b->ops->attach_helper(w->b, "shuffle", getpid(), &l, on_done, &a), 0);
    run_until_called(w, &a);
    assert_int_equal(a.result, 0);
    assert_string_equal(a.cg->name, "nmtest_shuffle.scope");
    assert_true(fake_tree_has(&w->dir, "root/nmtest_shuffle.scope"));
    assert_int_equal(fake_systemd_count(w->systemd, "StartTransientUnit nmtest_shuffle.scope"), 2);
    assert_true(fake_systemd_was_called(w->systemd, expected));
    assert_true(fake_systemd_was_called(w->systemd, " CPUWeight=25 "));
    assert_int_equal(w->b->ops->list(w->b, count_listed, &n_listed), 0);
    assert_int_equal(n_listed, 0);
    nm_cgroup_free(a.cg);
    assert_int_equal(w->b->ops->attach_helper(w->b, "a/b", getpid(), &l, on_done, &a), -EINVAL);
}

static void test_the_end_of_a_job_is_remembered_until_its_name_is_known(void **state)
{
    struct fixture *w = *state;

    fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "StartTransientUnit", .job_is_early = true});
    nm_cgroup_free(created(w, "c1"));
}

static pid_t dead_pid(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

static void test_a_failed_creation_of_a_scope_reports_its_reason(void **state)
{
    static const struct {
        struct fake_answer answer;
        bool is_dead;
        int r;
        const char *message;
    } cases[] = {
        {{.job_result = "failed"}, false, -EIO, "nmtest-c1.scope: systemd couldn't start it (job result: failed)"},
        {{.job_result = "failed"}, true, -ESRCH, "the process has ended already"},
        {{.job_result = "canceled"}, false, -ECANCELED, "(job result: canceled)"},
        {{.job_result = "dependency"}, false, -EIO, "(job result: dependency)"},
        {{.job_result = "timeout"}, false, -ETIMEDOUT, "(job result: timeout)"},
        {{.job_result = "skipped"}, false, -EIO, "(job result: skipped)"},
        {{.error = SD_BUS_ERROR_ACCESS_DENIED}, false, -EACCES, "told to"},
        {{.error = "org.freedesktop.systemd1.NoSuchUnit"}, true, -ESRCH, "the process has ended already"},
        {{.error = "org.freedesktop.systemd1.UnitMasked"}, false, -EPERM, "told to"},
        {{.error = "org.freedesktop.systemd1.ShuttingDown"}, false, -ESHUTDOWN, "told to"},
        {{.error = "org.freedesktop.DBus.Error.LimitsExceeded"}, false, -EAGAIN, "told to"},
        {{.error = "org.example.NeverHeardOf"}, false, -EIO, "told to"},
        {{.is_garbage = true}, false, -ENXIO, "nmtest-c1.scope"},
        {{.makes_nothing = true}, false, -ESRCH, "the process has ended already"}, /* the process exited immediately */
    };
    struct fixture *w = *state;
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    pid_t dead = dead_pid();

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct fake_answer answer = cases[i].answer;
        struct answer a = {0};

        answer.method = "StartTransientUnit";
        fake_systemd_answer(w->systemd, &answer);
        if (answer.error && strstr(answer.error, "NoSuchUnit")) { /* starting the slice doesn't help */
            fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "StartTransientUnit"});
            fake_systemd_answer(w->systemd, &answer);
        }
        assert_int_equal(w->b->ops->create(w->b, "c1", "", cases[i].is_dead ? dead : getpid(), &l, on_done, &a), 0);
        run_until_called(w, &a);
        if (a.result != cases[i].r || !strstr(a.message, cases[i].message) || a.cg)
            fail_msg("case %zu: %d, %s", i, a.result, a.message);
        if (answer.is_garbage)
            drop_cgroup(w, "nmtest-c1.scope");
    }
}

/* systemd reports only "failed". The files of the cgroup tree show that the tree is full. */
static void test_a_full_cgroup_tree_is_recognized(void **state)
{
    struct fixture *w = *state;
    struct answer a;

    fake_tree_write(&w->dir, "root/" SLICE "/cgroup.max.descendants", "3\n");
    fake_tree_write(&w->dir, "root/" SLICE "/cgroup.max.depth", "max\n");
    fake_tree_write(&w->dir, "root/" SLICE "/cgroup.stat", "nr_descendants 3\nnr_dying_descendants 0\n");
    fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "StartTransientUnit", .job_result = "failed"});
    assert_int_equal(create(w, "c1", &a), -EAGAIN);
    assert_non_null(strstr(a.message, "the cgroup tree is full"));
    fake_tree_write(&w->dir, "root/" SLICE "/cgroup.stat", "nr_descendants 2\nnr_dying_descendants 9\n");
    fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "StartTransientUnit", .job_result = "failed"});
    assert_int_equal(create(w, "c1", &a), -EIO);
    fake_tree_write(&w->dir, "root/" SLICE "/cgroup.max.depth", "0\n");
    fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "StartTransientUnit", .job_result = "failed"});
    assert_int_equal(create(w, "c1", &a), -EAGAIN);
}

static void test_a_name_that_is_in_use_is_refused(void **state)
{
    static const struct fake_answer taken = {.method = "StartTransientUnit",
                                             .error = "org.freedesktop.systemd1.UnitExists"};
    struct fixture *w = *state;
    struct fake_answer late = taken;
    struct answer a;

    fake_systemd_answer(w->systemd, &taken);
    nm_cgroup_free(created(w, "c1")); /* the old unit with this name is reset, and the start is repeated */
    assert_int_equal(fake_systemd_count(w->systemd, "StartTransientUnit nmtest-c1.scope"), 2);
    fake_systemd_answer(w->systemd, &taken);
    late.takes_usec = 4 * NM_USEC_PER_SEC;
    fake_systemd_answer(w->systemd, &late);
    assert_int_equal(create(w, "c2", &a), -EEXIST);
    assert_string_equal(a.message, "nmtest-c2.scope: told to");
}

static void test_a_property_unknown_to_systemd_is_left_out(void **state)
{
    static const struct fake_answer unknown = {.method = "StartTransientUnit",
                                               .error = SD_BUS_ERROR_PROPERTY_READ_ONLY};
    struct fixture *w = *state;
    struct answer a;

    fake_systemd_answer(w->systemd, &unknown);
    nm_cgroup_free(created(w, "c1"));
    assert_int_equal(fake_systemd_count(w->systemd, "OOMPolicy"), 1);
    nm_cgroup_free(created(w, "c2"));
    /* the backend remembers that the property is unknown */
    assert_int_equal(fake_systemd_count(w->systemd, "OOMPolicy"), 1);
    assert_int_equal(fake_systemd_count(w->systemd, "StartTransientUnit nmtest-c2.scope"), 1);
    fake_systemd_answer(w->systemd, &unknown);
    fake_systemd_answer(w->systemd, &unknown);
    assert_true(create(w, "c3", &a) < 0); /* after a second unknown property there is no further attempt */
    assert_int_equal(fake_systemd_count(w->systemd, "StartTransientUnit nmtest-c3.scope"), 2);
}

/* A stopped slice is started again with its limits, for the next container. */
static void test_a_stopped_slice_is_started_again(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    struct answer a = {0};

    l.memory_max_bytes = 5 << 20;
    assert_int_equal(w->b->ops->set_slice_limits(w->b, &l, on_done, &a), 0);
    run_until_called(w, &a);
    assert_int_equal(a.result, 0);
    drop_cgroup(w, "");
    fake_systemd_clear_calls(w->systemd);
    fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "StartTransientUnit",
                                                          .error = "org.freedesktop.systemd1.NoSuchUnit"});
    nm_cgroup_free(created(w, "c1"));
    run_until_received(w, "SetUnitProperties nmtest.slice MemoryAccounting=yes CPUAccounting=yes TasksAccounting=yes "
                       "IOAccounting=yes MemoryMax=5242880", 1);
    assert_true(fake_systemd_was_called(w->systemd, "StartTransientUnit nmtest.slice"));
    assert_true(faccessat(w->b->slice_fd, "nmtest-c1.scope", F_OK, 0) == 0);
}

static void test_two_creations_wait_for_the_start_of_one_slice(void **state)
{
    static const struct fake_answer gone = {.method = "StartTransientUnit",
                                            .error = "org.freedesktop.systemd1.NoSuchUnit"};
    struct fixture *w = *state;
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    struct answer a = {0}, c = {0};

    drop_cgroup(w, "");
    fake_systemd_clear_calls(w->systemd);
    fake_systemd_answer(w->systemd, &gone);
    fake_systemd_answer(w->systemd, &gone);
    assert_int_equal(w->b->ops->create(w->b, "c1", "", getpid(), &l, on_done, &a), 0);
    assert_int_equal(w->b->ops->create(w->b, "c2", "", getpid(), &l, on_done, &c), 0);
    run_until_called(w, &a);
    run_until_called(w, &c);
    assert_true(a.result == 0 && c.result == 0);
    assert_int_equal(fake_systemd_count(w->systemd, "StartTransientUnit nmtest.slice"), 1);
    nm_cgroup_free(a.cg);
    nm_cgroup_free(c.cg);
}

static void test_an_answer_after_the_deadline_is_an_error(void **state)
{
    struct fixture *w = *state;
    struct answer a;

    fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "StartTransientUnit", .is_silent = true,
                                                          .takes_usec = 61 * NM_USEC_PER_SEC});
    assert_int_equal(create(w, "c1", &a), -ETIMEDOUT);
    assert_string_equal(a.message, "nmtest-c1.scope: systemd didn't answer in time");
}

/* ---- limits of scopes ------------------------------------------------------------------------ */

static int set_limits(struct fixture *w, const struct nm_cgroup *cg, struct answer *a)
{
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    int r;

    *a = (struct answer){0};
    l.cpu_idle = true;
    l.oom_group = false;
    r = w->b->ops->set_limits(w->b, cg, &l, on_done, a);
    if (r < 0)
        return r;
    run_until_called(w, a);
    return a->result;
}

static void test_limits_are_set_through_systemd(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup *cg = created(w, "c1");
    struct answer a;

    fake_systemd_clear_calls(w->systemd);
    assert_int_equal(set_limits(w, cg, &a), 0);
    assert_null(a.cg);
    assert_true(fake_systemd_was_called(w->systemd, "MemoryMax=18446744073709551615"));
    assert_true(fake_systemd_was_called(w->systemd, "CPUWeight=0 CPUQuotaPerSecUSec=18446744073709551615"));
    /* the backend writes these files after the reply to this request */
    assert_true(fake_systemd_was_called(w->systemd, "\nPing\n"));
    assert_true(file_contains(cg, "memory.oom.group", "0"));
    fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "SetUnitProperties",
                                                          .error = "org.freedesktop.systemd1.NoSuchUnit"});
    assert_int_equal(set_limits(w, cg, &a), -ENOENT);
    assert_string_equal(a.message, "nmtest-c1.scope: told to");
    fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "Ping", .error = SD_BUS_ERROR_ACCESS_DENIED});
    assert_int_equal(set_limits(w, cg, &a), -EACCES);
    drop_cgroup(w, "nmtest-c1.scope"); /* the scope has ended, so its files can't be written */
    assert_int_equal(set_limits(w, cg, &a), 0);
    nm_cgroup_free(cg);
}

static void test_limits_can_be_set_after_a_lack_of_descriptors(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup *cg = created(w, "c1");
    struct rlimit limit, low;
    struct answer a;
    int r;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = (struct rlimit){.rlim_cur = 3, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    r = set_limits(w, cg, &a);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    /* F_DUPFD returns EINVAL if its minimum is above the limit of descriptors */
    assert_true(r == -EMFILE || r == -EINVAL);
    assert_int_equal(set_limits(w, cg, &a), 0);
    nm_cgroup_free(cg);
}

/* ---- the connection -------------------------------------------------------------------------- */

static void test_a_broken_connection_is_restored(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup *cg;
    struct answer a;

    fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "StartTransientUnit", .hangs_up = true});
    cg = created(w, "c1"); /* the call is repeated over the new connection */
    assert_true(fake_systemd_was_called(w->systemd, "StartTransientUnit nmtest-c1.scope"));
    fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "SetUnitProperties", .hangs_up = true});
    assert_int_equal(set_limits(w, cg, &a), 0);
    fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "Ping", .hangs_up = true});
    assert_int_equal(set_limits(w, cg, &a), 0);
    nm_cgroup_free(cg);
}

static void test_a_connection_that_stays_broken_is_reported(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup *cg = created(w, "c1");
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    struct answer a = {0};

    fake_tree_write(&w->dir, "root/" SLICE "/nmtest-c1.scope/cgroup.events", "populated 0\nfrozen 0\n");
    fake_systemd_disconnect(w->systemd);
    /* the connection may be restored later */
    assert_int_equal(w->b->ops->create(w->b, "c2", "", getpid(), &l, on_done, &a), 0);
    run_a_while(w);
    assert_int_equal(a.n_calls, 0);
    assert_int_equal(w->b->ops->remove(w->b, cg), -ENOTCONN);
    fake_systemd_set_clock_ahead(61 * NM_USEC_PER_SEC);
    run_until_called(w, &a);
    assert_int_equal(a.result, -ENOTCONN);
    assert_string_equal(a.message, "nmtest-c2.scope: no connection to systemd");
    fake_systemd_set_clock_ahead(0);
    fake_systemd_reconnect(w->systemd);
    a = (struct answer){0};
    assert_int_equal(w->b->ops->create(w->b, "c3", "", getpid(), &l, on_done, &a), 0);
    run_until_called(w, &a);
    assert_int_equal(a.result, 0);
    nm_cgroup_free(a.cg);
    nm_cgroup_free(cg);
}

/* systemd has created the scope, but its answer was lost. The repeated request fails because the scope exists. The
 * kernel's list of the scope's processes shows whether it is the requested scope. */
static void test_a_lost_answer_is_recovered(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    struct answer a = {0};
    char path[64], scope[128], text[16];
    _cleanup_close_ int fd = -EBADF;
    pid_t pid;

    make_own_cgroup(path, sizeof path);
    (void)snprintf(scope, sizeof scope, "%s/nmtest-c1.scope", path);
    assert_int_equal(mkdir(scope, 0755), 0);
    pid = fork();
    if (pid == 0) {
        (void)close_range(3, ~0U, 0); /* a duplicate of the descriptor would keep the connection open */
        alarm(60);
        for (;;)
            pause();
    }
    fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "StartTransientUnit", .hangs_up = true,
                                                          .runs_call_first = true});
    assert_int_equal(w->b->ops->create(w->b, "c1", "", pid, &l, on_done, &a), 0);
    run_until_received(w, "StartTransientUnit nmtest-c1.scope", 2);
    run_a_while(w);
    assert_int_equal(a.n_calls, 0); /* another program's scope may have this name */
    fd = open(scope, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)snprintf(text, sizeof text, "%d", (int)pid);
    assert_int_equal(nm_write_file_at(fd, "cgroup.procs", text), 0);
    run_until_called(w, &a);
    assert_int_equal(a.result, 0);
    nm_cgroup_free(a.cg);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(rmdir(scope), 0);
    assert_int_equal(rmdir(path), 0);
}

/* While systemd re-executes, its name is missing on the bus for a moment. The connection is not closed. */
static void test_a_reexecution_of_systemd_does_not_break_the_connection(void **state)
{
    static const char *const errors[] = {SD_BUS_ERROR_NAME_HAS_NO_OWNER, SD_BUS_ERROR_SERVICE_UNKNOWN,
                                         "org.freedesktop.DBus.Error.Spawn.ChildExited"};
    struct fixture *w = *state;

    assert_false(w->b->user_manager);
    for (size_t i = 0; i < NM_ARRAY_SIZE(errors); i++) {
        struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
        struct answer a = {0};
        char id[8];

        (void)snprintf(id, sizeof id, "c%zu", i);
        fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "StartTransientUnit", .error = errors[i]});
        assert_int_equal(w->b->ops->create(w->b, id, "", getpid(), &l, on_done, &a), 0);
        run_until_received(w, "StartTransientUnit nmtest-c", 1);
        fake_systemd_clear_calls(w->systemd);
        fake_systemd_emit_owner(w->systemd, ""); /* systemd's bus name has no owner for a moment */
        fake_systemd_emit_owner(w->systemd, ":1.9");
        run_until_called(w, &a);
        assert_int_equal(a.result, 0);
        nm_cgroup_free(a.cg);
        assert_true(fake_systemd_count(w->systemd, "Subscribe") == 1);
        fake_systemd_clear_calls(w->systemd);
    }
}

/* A busy systemd that doesn't answer keeps its bus name and its connection. So only a repeated request makes it
 * answer. */
static void test_a_subscription_that_systemd_does_not_answer_is_repeated(void **state)
{
    static const struct fake_answer answers[] = {
        {.method = "Subscribe", .error = SD_BUS_ERROR_NO_REPLY},
        {.method = "Subscribe", .error = SD_BUS_ERROR_TIMEOUT},
        {.method = "Subscribe", .error = SD_BUS_ERROR_SERVICE_UNKNOWN},
        {.method = "Subscribe", .hangs_up = true}, /* sd-bus reports the end of the connection twice */
    };
    struct fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(answers); i++) {
        struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
        struct answer a = {0};
        char id[8];

        (void)snprintf(id, sizeof id, "c%zu", i);
        fake_systemd_clear_calls(w->systemd);
        fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "StartTransientUnit", .is_silent = true});
        assert_int_equal(w->b->ops->create(w->b, id, "", getpid(), &l, on_done, &a), 0);
        run_until_received(w, "StartTransientUnit", 1);
        fake_systemd_answer(w->systemd, &answers[i]);
        fake_systemd_emit_owner(w->systemd, ":1.9");
        run_until_received(w, "Subscribe", 2);
        run_until_called(w, &a); /* pending calls are repeated over the new connection */
        assert_int_equal(a.result, 0);
        nm_cgroup_free(a.cg);
        run_a_while(w);
        assert_int_equal(fake_systemd_count(w->systemd, "Subscribe"), 2); /* the backend makes no further request */
    }
}

/* ---- signals from systemd -------------------------------------------------------------------- */

static void test_files_that_a_reload_of_systemd_changed_are_restored(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup *cg = created(w, "c1"), *other = created(w, "c2"), *third = created(w, "c3");
    struct answer a;

    assert_int_equal(set_limits(w, other, &a), 0); /* systemd's reload sets memory.oom.group to 0 */
    fake_tree_write(&w->dir, "root/" SLICE "/nmtest-c1.scope/memory.oom.group", "0\n");
    drop_cgroup(w, "nmtest-c3.scope");
    fake_systemd_emit_reloading(w->systemd, true);
    run_a_while(w);
    assert_true(file_contains(cg, "memory.oom.group", "0"));
    fake_systemd_emit_reloading(w->systemd, false);
    run_a_while(w);
    assert_true(file_contains(cg, "memory.oom.group", "1"));
    assert_true(file_contains(other, "memory.oom.group", "0"));
    nm_cgroup_free(cg);
    nm_cgroup_free(other);
    nm_cgroup_free(third);
}

struct stops {
    unsigned n_calls;
    char of[64];
};

static void on_stopped(const char *container_id, void *userdata)
{
    struct stops *s = userdata;

    s->n_calls++;
    (void)snprintf(s->of, sizeof s->of, "%s", container_id ? container_id : "all");
}

static void test_a_stop_of_a_scope_is_reported(void **state)
{
    struct fixture *w = *state;
    struct stops s = {0};

    w->b->stopped_cb = on_stopped;
    w->b->stopped_userdata = &s;
    nm_cgroup_free(created(w, "c1"));
    assert_int_equal(s.n_calls, 0); /* the end of a job that the backend itself requested isn't reported */
    fake_systemd_emit_job(w->systemd, "nmtest-c1.scope");
    run_a_while(w);
    assert_int_equal(s.n_calls, 1);
    assert_string_equal(s.of, "c1");
    fake_systemd_emit_job(w->systemd, "sshd.service");
    fake_systemd_emit_job(w->systemd, SLICE); /* this job is a start, so its end isn't reported */
    run_until_received(w, "Get JobType", 1);
    run_a_while(w);
    assert_int_equal(s.n_calls, 1);
    fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "Get", .error = SD_BUS_ERROR_UNKNOWN_OBJECT});
    fake_systemd_emit_job(w->systemd, SLICE); /* the job ends before the backend has read its type */
    run_until_received(w, "Get JobType", 2);
    run_a_while(w);
    assert_int_equal(s.n_calls, 1);
    for (unsigned i = 0; i < 2; i++) {
        s.of[0] = '\0';
        fake_systemd_set_job_type(w->systemd, i == 0 ? "stop" : "restart");
        fake_systemd_emit_job(w->systemd, SLICE);
        run_until_received(w, "Get JobType", 3 + i);
        run_a_while(w);
        assert_int_equal(s.n_calls, 2 + i);
        assert_string_equal(s.of, "all");
    }
    w->b->stopped_cb = NULL; /* a backend without a callback for stopped scopes */
    fake_systemd_emit_job(w->systemd, "nmtest-c1.scope");
    run_a_while(w);
}

static void test_invalid_messages_of_systemd_are_ignored(void **state)
{
    static const char *const signals[] = {"JobNew", "JobRemoved", "Reloading", "Never"};
    struct fixture *w = *state;
    struct stops s = {0};
    struct nm_cgroup *cg = created(w, "c1");

    w->b->stopped_cb = on_stopped;
    w->b->stopped_userdata = &s;
    fake_tree_write(&w->dir, "root/" SLICE "/nmtest-c1.scope/memory.oom.group", "0\n");
    for (size_t i = 0; i < NM_ARRAY_SIZE(signals); i++)
        fake_systemd_emit_invalid_signal(w->systemd, signals[i]);
    run_a_while(w);
    assert_int_equal(s.n_calls, 0);
    assert_true(file_contains(cg, "memory.oom.group", "0"));
    nm_cgroup_free(cg);
    nm_cgroup_free(created(w, "c2"));
}

/* ---- other operations ------------------------------------------------------------------------ */

static void test_a_scope_is_removed(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup *cg = created(w, "c1");

    fake_systemd_clear_calls(w->systemd);
    assert_int_equal(w->b->ops->remove(w->b, cg), -EBUSY);
    fake_tree_write(&w->dir, "root/" SLICE "/nmtest-c1.scope/cgroup.events", "nonsense\n");
    assert_int_equal(w->b->ops->remove(w->b, cg), -EBADMSG);
    run_a_while(w);
    assert_false(fake_systemd_was_called(w->systemd, "StopUnit"));
    fake_tree_write(&w->dir, "root/" SLICE "/nmtest-c1.scope/cgroup.events", "populated 0\nfrozen 0\n");
    assert_int_equal(w->b->ops->remove(w->b, cg), 0);
    run_until_received(w, "StopUnit nmtest-c1.scope", 1);
    run_until_received(w, "ResetFailedUnit nmtest-c1.scope", 1);
    drop_cgroup(w, "nmtest-c1.scope");
    assert_int_equal(w->b->ops->remove(w->b, cg), 0);
    nm_cgroup_free(cg);
}

static void on_listed(struct nm_cgroup *cg, const char *id, void *userdata)
{
    char *ids = userdata;

    (void)snprintf(ids + strlen(ids), 64 - strlen(ids), "%s ", id);
    nm_cgroup_free(cg);
}

/* After a restart, nmd reads memory.oom.group from the existing cgroup. */
static void test_existing_scopes_are_listed_after_a_restart(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup *cg;
    char ids[64] = "";

    fake_tree_write(&w->dir, "root/" SLICE "/nmtest-c7.scope/memory.oom.group", "1\n");
    fake_tree_write(&w->dir, "root/" SLICE "/other-c8.scope/memory.oom.group", "1\n");
    assert_int_equal(w->b->ops->list(w->b, on_listed, ids), 0);
    assert_string_equal(ids, "c7 ");
    fake_tree_write(&w->dir, "root/" SLICE "/nmtest-c7.scope/memory.oom.group", "0\n");
    fake_systemd_emit_reloading(w->systemd, false);
    run_a_while(w);
    assert_int_equal(nm_backend_open_scope(w->b, "nmtest-c7.scope", &cg), 0);
    assert_true(file_contains(cg, "memory.oom.group", "1"));
    nm_cgroup_free(cg);
    drop_cgroup(w, "");
    assert_int_equal(w->b->ops->list(w->b, on_listed, ids), 0);
    assert_string_equal(ids, "c7 ");
}

#define started(f) cmocka_unit_test_setup_teardown(f, fixture_private, fixture_teardown)
#define alone(f) cmocka_unit_test_setup_teardown(f, fixture_alone, fixture_teardown)
#define over_bus(f) cmocka_unit_test_setup_teardown(f, fixture_bus, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        alone(test_the_backend_starts_the_slice_and_finds_its_features),
        alone(test_an_older_systemd_is_accepted),
        alone(test_an_installed_slice_unit_is_used),
        alone(test_a_failed_start_of_the_backend_leaves_no_resources),
        alone(test_without_systemd_no_backend_starts),
        started(test_closing_the_backend_stops_only_an_empty_slice),
        started(test_a_scope_is_created),
        over_bus(test_a_scope_is_created),
        started(test_a_helper_gets_a_separate_scope),
        over_bus(test_a_helper_gets_a_separate_scope),
        started(test_the_end_of_a_job_is_remembered_until_its_name_is_known),
        started(test_a_failed_creation_of_a_scope_reports_its_reason),
        started(test_a_full_cgroup_tree_is_recognized),
        started(test_a_name_that_is_in_use_is_refused),
        started(test_a_property_unknown_to_systemd_is_left_out),
        started(test_a_stopped_slice_is_started_again),
        started(test_two_creations_wait_for_the_start_of_one_slice),
        started(test_an_answer_after_the_deadline_is_an_error),
        started(test_limits_are_set_through_systemd),
        started(test_limits_can_be_set_after_a_lack_of_descriptors),
        started(test_a_broken_connection_is_restored),
        over_bus(test_a_broken_connection_is_restored),
        started(test_a_connection_that_stays_broken_is_reported),
        started(test_a_lost_answer_is_recovered),
        over_bus(test_a_reexecution_of_systemd_does_not_break_the_connection),
        over_bus(test_a_subscription_that_systemd_does_not_answer_is_repeated),
        started(test_files_that_a_reload_of_systemd_changed_are_restored),
        over_bus(test_files_that_a_reload_of_systemd_changed_are_restored),
        started(test_a_stop_of_a_scope_is_reported),
        over_bus(test_a_stop_of_a_scope_is_reported),
        started(test_invalid_messages_of_systemd_are_ignored),
        started(test_a_scope_is_removed),
        started(test_existing_scopes_are_listed_after_a_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
