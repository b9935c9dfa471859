/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The complete manager without memory, event sources, descriptors or disk space: each test makes every single call fail
 * once. No submitted container is lost because of the failure, and each container reaches a valid state.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "agent/lifecycle/lifecycle.h"
#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "agent/requests/requests.h"
#include "agent/manager/manager-internal.h"
#include "cgroup/backend-fake.h"
#include "tests/unit/fail-nth.h"
#include "tests/unit/persistent-cgroups.h"
#include "util/clock.h"

#define OWNER "upstream"
#define ORPHAN "container_99_000001"
#define PREPARED "container_e17_1410901177871_0001_01_000005"
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const unsigned all_kinds[] = {FAIL_MEMORY, FAIL_EVENT, FAIL_OPEN};
static const char *const sleeps[] = {"/bin/sh", "-c", "exec sleep 1000", NULL};
static const char *const ends[] = {"/bin/sh", "-c", "exit 3", NULL};

static int set_up(void **state)
{
    if (manager_fixture_set_up_real(state) < 0)
        return -1;
    persistent_cgroups(*state);
    manager_fixture_restart(*state);
    manager_fixture_start(*state);
    return 0;
}

static int tear_down(void **state)
{
    int r = manager_fixture_tear_down_real(state);

    persistent_cgroups(NULL);
    return r;
}

static bool is_running(const struct nm_live_container *l)
{
    return l->c->view.state == NM_RUNNING;
}

/* Acts as the kernel: marks the cgroup of an exited shim as empty. */
static void empty_cgroups(struct manager_fixture *w)
{
    for (size_t i = 0; i < w->m->live.n; i++) {
        struct nm_live_container *l = w->m->live.all[i];

        if (manager_fixture_shim_is_gone(l) && l->cg)
            assert_int_equal(nm_fake_set_events(l->cg, false, false), 0);
    }
}

static bool has_ended(struct manager_fixture *w, const char *id)
{
    const struct nm_container *c = nm_lists_by_id(w->m, id);

    return !c || c->view.state == NM_COMPLETED;
}

/* Runs the event loop, and triggers housekeeping and samples, until the container has ended. */
static void run_to_end(struct manager_fixture *w, const char *id)
{
    uint64_t deadline = nm_now_usec() + MANAGER_FIXTURE_DEADLINE_USEC;

    while (!has_ended(w, id) && nm_now_usec() < deadline) {
        assert_true(sd_event_run(w->event, 10 * NM_USEC_PER_MSEC) >= 0);
        empty_cgroups(w);
        nm_end_check_all(w->m);
        for (size_t i = 0; i < w->m->live.n; i++)
            w->m->live.all[i]->retry_usec = 0;
        nm_round_request(w->m, NM_TRIGGER_CHANGE);
    }
    assert_true(has_ended(w, id));
}

/* ---- start of nmd ----------------------------------------------------------------------------- */

static int begin(struct manager_fixture *w, unsigned kinds, unsigned n)
{
    struct nm_manager_params p;
    char *message = NULL;
    int r;

    w->m = nm_manager_free(w->m);
    manager_fixture_params(w, &p);
    fail_nth(kinds, n);
    r = nm_manager_new(&p, &w->m, &message);
    if (r < 0) {
        assert_null(w->m);
        free(message);
        return r;
    }
    return nm_manager_start(w->m);
}

static void leave_each_kind(struct manager_fixture *w, char ended[NM_ID_SIZE])
{
    const struct nm_submit prepared = {.type = NM_OPPORTUNISTIC, .name = "prepared", .app = "app", .argv = sleeps,
                                       .owner = OWNER, .id = PREPARED, .prepare = true,
                                       .blob = {(void *)(uintptr_t)"b", 1}};
    struct nm_live_container *l = manager_fixture_submit(w, "ends", NM_GUARANTEED, ends);

    memcpy(ended, l->c->id, NM_ID_SIZE);
    run_to_end(w, ended);
    manager_fixture_submit_as(w, &prepared);
    manager_fixture_wait(w, manager_fixture_submit(w, "runs", NM_GUARANTEED, sleeps), is_running);
    persistent_cgroups_add(w, ORPHAN, true, false);
}

static void assert_all_found(struct manager_fixture *w, const char *ended)
{
    struct nm_live_container *l = manager_fixture_find(w, "runs");
    const struct nm_container *c = nm_lists_by_id(w->m, ended);

    assert_non_null(c);
    assert_int_equal(c->exit_code, 3);
    assert_non_null(nm_lists_by_id(w->m, PREPARED));
    assert_int_equal(nm_lists_by_id(w->m, PREPARED)->view.state, NM_NEW);
    assert_int_equal(nm_lists_by_id(w->m, PREPARED)->blob.bytes, 1);
    assert_non_null(l);
    assert_true(l->run.adopted && l->cg && l->launch && is_running(l));
    assert_int_equal(w->m->unowned.orphans.n, 1);
}

/* If a call fails, nmd fails to start, or starts with fewer functions. In both cases the next nmd finds all data. */
static void test_a_start_of_nmd_without_memory_loses_no_data(void **state)
{
    struct manager_fixture *w = *state;
    char ended[NM_ID_SIZE];

    leave_each_kind(w, ended);
    for (size_t k = 0; k < NM_ARRAY_SIZE(all_kinds); k++) {
        unsigned n = 0;

        do {
            int r = begin(w, all_kinds[k], ++n);

            assert_true(r < 0 || manager_fixture_find(w, "runs"));
            if (!fail_stop()) {
                assert_int_equal(r, 0);
                break;
            }
            assert_true(r >= 0 || r == -ENOMEM || r == -EMFILE || r == -EIO);
        } while (true);
        assert_true(n > 3);
        manager_fixture_restart(w);
        assert_all_found(w, ended);
    }
}

/* ---- life of a container ---------------------------------------------------------------------- */

static bool was_refused(struct manager_fixture *w, const struct nm_submit *s, char id[NM_ID_SIZE])
{
    const struct nm_container *c = NULL;
    uint64_t seq = w->m->journal.next_seq;
    struct nm_problem problem;
    size_t n = w->m->live.n;

    if (manager_fixture_try(w, s, &c, &problem) == 0) {
        memcpy(id, c->id, NM_ID_SIZE);
        return false;
    }
    assert_null(c);
    assert_int_equal(w->m->live.n, n);
    assert_true(w->m->journal.next_seq == seq);
    return true;
}

/* Runs the event loop until the container has ended, or until the call that should fail isn't reached any more. */
static void continue_after_restart(struct manager_fixture *w, const char *id)
{
    for (unsigned i = 0; i < 200 && !has_ended(w, id); i++) {
        unsigned armed;

        assert_true(sd_event_run(w->event, 2 * NM_USEC_PER_MSEC) >= 0);
        armed = fail_pause();
        empty_cgroups(w);
        fail_resume(armed);
    }
}

static void assert_end_is_reported(struct manager_fixture *w, const char *id)
{
    const struct nm_container *c = nm_lists_by_id(w->m, id);

    if (!c) /* the list of ended containers couldn't allocate an entry for the container */
        return;
    assert_int_equal(c->view.state, NM_COMPLETED);
    if (c->exit_reason == NM_EXIT_EXITED)
        assert_int_equal(c->exit_code, 3);
    else
        assert_true(c->message[0] != '\0');
}

static void run_with_failures(struct manager_fixture *w, unsigned kind)
{
    struct nm_submit s = {.memory_bytes = 32 * MIB, .vcores_milli = 100, .argv = ends, .app = NULL,
                          .env = (const char *const[]){"A=b", NULL}, .blob = {(void *)(uintptr_t)"b", 1}};
    bool failed = true;

    for (unsigned n = 1; failed; n++) {
        char id[NM_ID_SIZE], app[32];
        bool refused;

        (void)snprintf(app, sizeof app, "app%u", n);
        s.app = app;
        s.type = n % 2 ? NM_GUARANTEED : NM_OPPORTUNISTIC;
        fail_nth(kind, n);
        refused = was_refused(w, &s, id);
        if (!refused)
            continue_after_restart(w, id);
        failed = fail_stop();
        if (!refused) {
            run_to_end(w, id);
            assert_end_is_reported(w, id);
        }
        assert_int_equal(w->m->live.n, 0);
    }
}

static void test_without_memory_no_container_is_lost(void **state)
{
    run_with_failures(*state, FAIL_MEMORY);
}

static void test_without_event_sources_no_container_is_lost(void **state)
{
    run_with_failures(*state, FAIL_EVENT);
}

static void test_without_descriptors_no_container_is_lost(void **state)
{
    run_with_failures(*state, FAIL_OPEN);
}

static void test_with_failing_files_no_container_is_lost(void **state)
{
    run_with_failures(*state, FAIL_FILES);
}

/* ---- requests of clients ---------------------------------------------------------------------- */

#define BEFORE 64 /* number of bytes of the blob before and after the request */

struct request {
    struct manager_fixture *w;
    const char *id;
    int client_fd;
    struct nm_problem problem;
};

static int list(struct request *q)
{
    bool more;

    return nm_manager_foreach(q->w->m, &manager_fixture_admin, &(struct nm_page){.limit = 0, .all = true}, NULL, NULL,
                              &more);
}

static int reload(struct request *q)
{
    const struct nm_config *before = q->w->m->config;
    int r = nm_manager_reload(q->w->m, &q->problem);

    assert_true(r == 0 || q->w->m->config == before);
    return r;
}

static int exec(struct request *q)
{
    const struct nm_exec e = {.argv = ends, .env = (const char *const[]){"C=d", NULL}};
    unsigned n = nm_sessions_count(q->w->m->sessions);
    uint64_t number = 0;
    int r = nm_manager_exec(q->w->m, &manager_fixture_admin, q->id, &e, q->client_fd, &number, &q->problem);

    assert_int_equal(nm_sessions_count(q->w->m->sessions), r == 0 ? n + 1 : n);
    nm_manager_exec_drop(q->w->m, number);
    return r;
}

static int record(struct request *q)
{
    char path[128], *message = NULL;
    int r;

    (void)snprintf(path, sizeof path, "%s/trace", q->w->tree.path);
    r = nm_manager_record(q->w->m, path, &message);
    assert_true(r == 0 ? q->w->m->recorder && nm_events_have_subscribers(q->w->m->events)
                       : !q->w->m->recorder && !nm_events_have_subscribers(q->w->m->events));
    q->w->m->recorder = nm_recorder_free(q->w->m->recorder);
    free(message);
    return r;
}

static int set_blob(struct request *q)
{
    static char bytes[BEFORE];
    const struct nm_live_container *l = nm_lists_live_of(nm_lists_by_id(q->w->m, q->id));
    const void *before = l->c->blob.data;
    int r = nm_manager_set_blob(q->w->m, "local", q->id, &(struct nm_blob){bytes, sizeof bytes}, &q->problem);

    assert_true(r == 0 || l->c->blob.data == before);
    return r;
}

static int drain(struct request *q)
{
    int r = nm_manager_drain(q->w->m, &manager_fixture_admin, manager_fixture_drain(3600 * NM_USEC_PER_SEC),
                             &q->problem);

    assert_int_equal(q->w->m->drain.is_on, r == 0);
    if (r == 0)
        (void)nm_manager_undrain(q->w->m, &manager_fixture_admin, &q->problem);
    return r;
}

static int pause_and_resume(struct request *q)
{
    const struct nm_live_container *l = nm_lists_live_of(nm_lists_by_id(q->w->m, q->id));
    unsigned armed;

    (void)nm_manager_pause(q->w->m, &manager_fixture_admin, q->id, &q->problem);
    armed = fail_pause();
    /* the freeze has failed, or the kernel hasn't confirmed it */
    assert_true(is_running(l) || l->c->view.state == NM_PAUSING);
    if (!is_running(l))
        assert_int_equal(nm_manager_resume(q->w->m, &manager_fixture_admin, q->id, &q->problem), 0);
    fail_resume(armed);
    return 0;
}

static int promote_and_demote(struct request *q)
{
    const struct nm_live_container *l = nm_lists_live_of(nm_lists_by_id(q->w->m, q->id));

    (void)nm_manager_demote(q->w->m, &manager_fixture_admin, q->id, &q->problem);
    (void)nm_manager_promote(q->w->m, &manager_fixture_admin, q->id, &q->problem);
    return l->c->view.type == NM_GUARANTEED ? 0 : -EPROTO;
}

static int check(struct request *q)
{
    struct nm_manager_params p;
    char *message = NULL;
    unsigned armed = fail_pause();
    int r;

    manager_fixture_params(q->w, &p);
    fail_resume(armed);
    r = nm_manager_check(&p, &message);
    nm_config_free(p.config);
    free(message);
    return r;
}

static int (*const requests[])(struct request *q) = {list,  reload,           exec,               record, set_blob,
                                                     drain, pause_and_resume, promote_and_demote, check};

/* A failed call either doesn't prevent the request, or the request is refused and changes no state. The next request
 * succeeds. */
static void test_each_request_is_carried_out_or_has_no_effect(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_submit(w, "runs", NM_GUARANTEED, sleeps);
    struct request q = {.w = w, .id = l->c->id};
    int fds[2];

    manager_fixture_wait(w, l, is_running);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    q.client_fd = fds[0];
    for (size_t i = 0; i < NM_ARRAY_SIZE(requests); i++) {
        for (size_t k = 0; k < NM_ARRAY_SIZE(all_kinds); k++) {
            bool failed = true;

            for (unsigned n = 1; failed; n++) {
                fail_nth(all_kinds[k], n);
                (void)requests[i](&q);
                failed = fail_stop();
                assert_true(is_running(l));
            }
            if (requests[i](&q) != 0)
                fail_msg("request %zu: %s", i, q.problem.message);
            manager_fixture_settle(w);
        }
    }
    assert_int_equal(nm_sessions_count(w->m->sessions), 0);
    assert_int_equal(close(fds[0]) + close(fds[1]), 0);
}

/* A forked child doesn't inherit the failures, because it executes another program or writes coverage data
 * (tests/coverage/hooks.c). */
static void in_child(void)
{
    (void)fail_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_start_of_nmd_without_memory_loses_no_data),
        TEST(test_each_request_is_carried_out_or_has_no_effect),
        TEST(test_without_memory_no_container_is_lost),
        TEST(test_without_event_sources_no_container_is_lost),
        TEST(test_without_descriptors_no_container_is_lost),
        TEST(test_with_failing_files_no_container_is_lost),
    };

    assert_int_equal(pthread_atfork(NULL, NULL, in_child), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
