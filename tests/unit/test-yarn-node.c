/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The cluster's containers on a complete manager with real journal, shims and commands. The test replaces the launcher:
 * it records the requests for preparations, and completes each request when a test asks for it.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>

#include "tests/unit/fail-nth.h"
#include "tests/unit/fake-launcher.h"
#include "tests/unit/yarn-starts.h"
#include "cgroup/backend-fake.h"
#include "util/clock.h"
#include "yarn/id-messages.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_launcher_set_up, manager_fixture_tear_down_real)

/* ---- requests of application masters ------------------------------------------------------ */

static int update(struct nm_yarn_node *n, const struct wanted *a, struct nm_exception *why)
{
    return nm_yarn_node_update(n, (struct nm_bytes){a->bytes, a->size}, &a->ids.token, why);
}

static void make_ready(void)
{
    struct nm_yarn_preparation *p = fake_launcher.newest;

    p->listener.progress(p, "1 of 2 resources", p->listener.userdata);
    p->listener.ended(p, 0, NULL, p->listener.userdata);
}

static size_t count(struct nm_yarn_node *n)
{
    Yarn__NodeStatus status = YARN__NODE_STATUS__INIT;
    struct nm_arena arena;

    nm_arena_init(&arena, 1 << 20, NULL);
    assert_int_equal(nm_yarn_node_report(n, &arena, &status), 0);
    nm_arena_done(&arena);
    return status.n_containers;
}

static size_t count_applications(struct nm_yarn_node *n)
{
    Yarn__RegisterRequest request = YARN__REGISTER_REQUEST__INIT;
    struct nm_arena arena;

    nm_arena_init(&arena, 1 << 20, NULL);
    assert_int_equal(nm_yarn_node_report_all(n, &arena, &request), 0);
    nm_arena_done(&arena);
    return request.n_applications;
}

static bool is_running(const struct nm_live_container *l)
{
    return l->c->view.state == NM_RUNNING;
}

static struct nm_live_container *run(struct manager_fixture *w)
{
    struct nm_live_container *l = w->m->live.all[0];

    make_ready();
    manager_fixture_wait(w, l, is_running);
    return l;
}

/* Acts as the kernel: ends the process of the container. */
static void end_it(struct manager_fixture *w, struct nm_live_container *l)
{
    (void)kill(l->c->pid, SIGKILL);
    manager_fixture_wait(w, l, manager_fixture_shim_is_gone);
    assert_int_equal(nm_fake_set_events(l->cg, false, false), 0);
    manager_fixture_settle(w);
}

/* ---- tests -------------------------------------------------------------------------------- */

static void test_a_container_of_the_cluster_starts_runs_and_ends(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    struct nm_live_container *l;
    struct wanted a;

    want(&a, 5, 64, false, 0);
    assert_int_equal(start(n, &a, "exec sleep 1000", &why), 0);
    assert_int_equal(start(n, &a, "exec sleep 1000", &why), NM_YARN_REFUSED);
    assert_non_null(strstr(why.message, "relaunch"));
    assert_int_equal(status_of(n, NULL).state, 2); /* the state is RUNNING, which includes the preparation */
    assert_int_equal(status_of(n, NULL).sub_state, 1);
    l = run(w);
    assert_string_equal(l->c->id, "container_1410901177871_0001_01_000005");
    assert_string_equal(l->c->app, "application_1410901177871_0001");
    assert_int_equal(status_of(n, NULL).sub_state, 2);
    assert_int_equal(status_of(n, NULL).exit_status, NM_YARN_INVALID);
    assert_int_equal(nm_yarn_node_stop(n, &a.ids.container, NM_YARN_KILLED_BY_MASTER, "Enough.", &why), 0);
    assert_int_equal(nm_yarn_node_stop(n, &a.ids.container, NM_YARN_KILLED_BY_RM, "Too late.", &why), 0);
    assert_int_equal(fake_launcher.n_updates, 0);
    end_it(w, l);
    assert_int_equal(fake_launcher.n_updates, 1);
    assert_int_equal(fake_launcher.n_preparations, 0);
    assert_int_equal(fake_launcher.ended_containers, 1);
    assert_int_equal(status_of(n, NULL).state, 3);
    assert_int_equal(status_of(n, NULL).exit_status, NM_YARN_KILLED_BY_MASTER);
    assert_non_null(strstr(status_of(n, NULL).diagnostics, "Enough."));
    nm_yarn_node_acknowledge(n, &a.ids.container);
    assert_int_equal(count(n), 0);
    nm_yarn_node_acknowledge(n, &a.ids.container);
    assert_int_equal(nm_yarn_node_stop(n, &a.ids.container, NM_YARN_KILLED_BY_MASTER, "", &why), 0);
    nm_yarn_node_free(n);
}

static void test_the_node_reports_its_room(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_yarn_node_room empty, room;
    struct nm_problem problem;
    struct nm_live_container *l;
    struct nm_exception why;
    struct wanted a, b;
    bool running, guaranteed;

    nm_yarn_node_get_room(n, &empty);
    assert_true(empty.admits);
    assert_in_range(empty.unused_memory_mib, 1, empty.memory_mib);
    assert_int_equal(empty.guaranteed_free_memory_mib, empty.memory_mib);
    assert_int_equal(empty.guaranteed_free_vcores, empty.vcores);
    assert_int_equal(empty.queue_length, 0);
    want(&a, 5, 64, false, 0);
    want(&b, 6, 32, true, 0);
    assert_int_equal(start(n, &a, "exec sleep 1000", &why), 0);
    assert_true(nm_yarn_node_has_container(n, &a.ids.container, &running, &guaranteed));
    assert_false(running);
    assert_false(nm_yarn_node_has_container(n, &b.ids.container, &running, &guaranteed));
    l = run(w);
    assert_true(nm_yarn_node_has_container(n, &a.ids.container, &running, &guaranteed));
    assert_true(running);
    assert_int_equal(start(n, &b, "exec sleep 1000", &why), 0);
    nm_yarn_node_get_room(n, &room);
    assert_int_equal(room.guaranteed_free_memory_mib, empty.memory_mib - 64);
    assert_int_equal(room.guaranteed_free_vcores, empty.vcores - 1);
    assert_int_equal(room.queue_length, 1); /* while it is prepared */
    assert_in_range(room.unused_memory_mib, 1, empty.unused_memory_mib - 32);
    assert_int_equal(nm_yarn_node_stop(n, &a.ids.container, NM_YARN_KILLED_BY_MASTER, "Enough.", &why), 0);
    assert_false(nm_yarn_node_has_container(n, &a.ids.container, &running, &guaranteed)); /* it is being ended */
    end_it(w, l);
    nm_yarn_node_get_room(n, &room);
    assert_int_equal(room.guaranteed_free_memory_mib, empty.memory_mib);
    assert_int_equal(nm_manager_drain(w->m, &manager_fixture_admin, manager_fixture_drain(3600 * NM_USEC_PER_SEC),
                                      &problem), 0);
    nm_yarn_node_get_room(n, &room);
    assert_false(room.admits);
    assert_int_equal(room.guaranteed_free_memory_mib + room.unused_memory_mib, 0);
    nm_yarn_node_free(n);
}

static void test_requests_for_unknown_containers_are_refused(void **state)
{
    struct nm_yarn_node *n = fake_launcher_node(*state);
    Yarn__ContainerStatus *s;
    struct nm_exception why;
    struct nm_arena arena;
    struct wanted a;

    want(&a, 6, 64, false, 0);
    nm_arena_init(&arena, 1 << 16, NULL);
    assert_int_equal(nm_yarn_node_stop(n, &a.ids.container, NM_YARN_KILLED_BY_MASTER, "", &why), NM_YARN_REFUSED);
    assert_non_null(strstr(why.message, "is not handled by this NodeManager"));
    assert_int_equal(nm_yarn_node_status(n, &a.ids.container, &arena, &s, &why), NM_YARN_REFUSED);
    /* a request for an unknown container succeeds */
    assert_int_equal(nm_yarn_node_signal(n, &a.ids.container, 1, &why), 0);
    assert_int_equal(nm_yarn_node_signal(n, &a.ids.container, 0, &why), NM_YARN_REFUSED);
    assert_int_equal(nm_yarn_node_signal(n, &a.ids.container, 4, &why), NM_YARN_REFUSED);
    assert_int_equal(update(n, &a, &why), NM_YARN_REFUSED);
    nm_arena_done(&arena);
    nm_yarn_node_free(n);
}

/* A refused start leaves no container, and the node reports no container to the ResourceManager. */
static void test_a_refused_start_leaves_no_container(void **state)
{
    static const struct {
        int64_t mib;
        int32_t vcores;
    } sizes[] = {{0, 1}, {-1, 1}, {INT64_C(1) << 40, 1}, {64, 0}, {64, -1}, {64, INT32_MAX}};
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    Yarn__Data service = YARN__DATA__INIT, *services[] = {&service};
    struct nm_exception why;
    struct wanted a;

    for (size_t i = 0; i < NM_ARRAY_SIZE(sizes); i++) {
        want(&a, 20, sizes[i].mib, false, 0);
        a.ids.resource.vcores = sizes[i].vcores;
        pack(&a);
        assert_int_equal(start(n, &a, "true", &why), NM_YARN_REFUSED);
        assert_non_null(strstr(why.message, "resource"));
    }
    want(&a, 20, 64, false, 0);
    assert_int_equal(nm_yarn_node_start(n, (struct nm_bytes){a.bytes, a.size}, &a.ids.token, &context, &why),
                     NM_YARN_REFUSED);
    assert_non_null(strstr(why.message, "no command"));

    context.command = (char *[]){(char *)(uintptr_t) "true"};
    context.n_command = 1;
    context.service_data = services;
    context.n_service_data = 1;
    service.key = (char *)(uintptr_t) "spark_shuffle";
    assert_int_equal(nm_yarn_node_start(n, (struct nm_bytes){a.bytes, a.size}, &a.ids.token, &context, &why),
                     NM_YARN_REFUSED);
    assert_string_equal(why.class_name, NM_EXCEPTION_INVALID_AUX_SERVICE);
    assert_non_null(strstr(why.message, "spark_shuffle"));
    assert_int_equal(count(n), 0);
    assert_int_equal(fake_launcher.n_preparations, 0);

    /* Updates of a running container to these sizes are refused. The container keeps its size. */
    assert_int_equal(start(n, &a, "exec sleep 1000", &why), 0);
    assert_int_equal(start(n, &a, "exec sleep 1000", &why), NM_YARN_REFUSED);
    assert_non_null(strstr(why.message, "relaunch"));
    (void)run(w);
    for (size_t i = 0; i < NM_ARRAY_SIZE(sizes); i++) {
        want(&a, 20, sizes[i].mib, false, 1);
        a.ids.resource.vcores = sizes[i].vcores;
        pack(&a);
        assert_int_equal(update(n, &a, &why), NM_YARN_REFUSED);
        assert_int_equal(w->m->live.all[0]->c->view.request.memory_bytes, 64 * MIB);
    }
    nm_yarn_node_free(n);
}

/* Container images aren't supported. The container ends with a message about this, and no command is run. */
static void test_a_container_with_an_unsupported_runtime_ends(void **state)
{
    struct nm_yarn_node *n = fake_launcher_node(*state);
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    Yarn__Text runtime = YARN__TEXT__INIT, *environment[] = {&runtime};
    struct nm_exception why;
    struct wanted a;

    want(&a, 21, 64, false, 0);
    context.command = (char *[]){(char *)(uintptr_t) "true"};
    context.n_command = 1;
    context.environment = environment;
    context.n_environment = 1;
    runtime.key = (char *)(uintptr_t) "YARN_CONTAINER_RUNTIME_TYPE";
    runtime.value = (char *)(uintptr_t) "docker";
    assert_int_equal(nm_yarn_node_start(n, (struct nm_bytes){a.bytes, a.size}, &a.ids.token, &context, &why), 0);
    assert_int_equal(status_of(n, NULL).exit_status, NM_YARN_INVALID);
    assert_non_null(strstr(status_of(n, NULL).diagnostics, "docker"));
    assert_int_equal(fake_launcher.n_preparations, 0);
    nm_yarn_node_free(n);
}

/* The ResourceManager no longer accepts this node. */
static void test_when_the_node_is_shut_down_all_containers_end(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_yarn_application_id application;
    struct nm_exception why;
    struct wanted a, b;

    want(&a, 22, 64, false, 0);
    want(&b, 23, 64, false, 0);
    application = nm_yarn_application_of(&a.ids.application);
    assert_false(nm_yarn_node_has_application(n, &application));
    assert_int_equal(start(n, &a, "exec sleep 1000", &why), 0);
    assert_int_equal(start(n, &b, "exec sleep 1000", &why), 0);
    assert_true(nm_yarn_node_has_application(n, &application));
    nm_yarn_node_end_all(n, NM_YARN_KILLED_BY_RM, "It was lost.");
    nm_yarn_node_end_all(n, NM_YARN_ABORTED, "Who is first says why.");
    manager_fixture_settle(w);
    assert_int_equal(count(n), 2);
    nm_yarn_node_acknowledge(n, &b.ids.container);
    assert_int_equal(status_of(n, NULL).exit_status, NM_YARN_KILLED_BY_RM);
    assert_int_equal(update(n, &a, &why), NM_YARN_REFUSED); /* the container has ended */
    assert_non_null(strstr(why.message, "completed"));
    nm_yarn_node_acknowledge(n, &a.ids.container);
    assert_int_equal(update(n, &a, &why), NM_YARN_REFUSED);
    assert_non_null(strstr(why.message, "recently stopped"));
    assert_int_equal(nm_yarn_node_stop(n, &a.ids.container, NM_YARN_KILLED_BY_MASTER, "", &why), 0);
    nm_yarn_node_free(n);
}

/* A container that can't run is accepted, and then reported as ended. */
static void test_a_container_that_can_not_run_is_reported_as_ended(void **state)
{
    struct nm_yarn_node *n = fake_launcher_node(*state);
    struct nm_exception why;
    struct wanted a;

    fake_launcher.no_dirs = "No directory is good.";
    want(&a, 7, 64, false, 0);
    assert_int_equal(start(n, &a, "true", &why), 0);
    assert_int_equal(status_of(n, NULL).exit_status, NM_YARN_INVALID);
    assert_non_null(strstr(status_of(n, NULL).diagnostics, fake_launcher.no_dirs));
    /* The node keeps no record of this container, so the reason is logged for operators. */
    assert_non_null(strstr(fake_launcher.reported,
                           "was not started, and ends with exit code -1000: No directory is good."));
    nm_yarn_node_acknowledge(n, &a.ids.container);
    fake_launcher.no_dirs = NULL;
    want(&a, 8, 5000, true, 0); /* more than the memory of the node */
    assert_int_equal(start(n, &a, "true", &why), 0);
    assert_int_equal(status_of(n, NULL).exit_status, NM_YARN_INVALID);
    nm_yarn_node_acknowledge(n, &a.ids.container);
    nm_yarn_node_end_application(n, &a.ids.application);
    want(&a, 9, 64, false, 0);
    assert_int_equal(start(n, &a, "true", &why), 0);
    assert_int_equal(status_of(n, NULL).exit_status, NM_YARN_KILLED_AFTER_APP);
    nm_yarn_node_free(n);
}

static void test_a_failed_preparation_ends_the_container(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    struct wanted a;

    want(&a, 10, 64, true, 0);
    assert_int_equal(start(n, &a, "true", &why), 0);
    fake_launcher.newest->listener.ended(fake_launcher.newest, -EIO, "There is no such file.",
                                         fake_launcher.newest->listener.userdata);
    manager_fixture_settle(w);
    assert_int_equal(status_of(n, NULL).exit_status, NM_YARN_INVALID);
    assert_int_equal(status_of(n, NULL).state, 3);
    assert_non_null(strstr(status_of(n, NULL).diagnostics, "There is no such file."));
    assert_int_equal(fake_launcher.n_preparations, 0);
    nm_yarn_node_free(n);
}

static void test_an_update_changes_the_size_and_the_execution_type(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    struct nm_live_container *l;
    struct wanted a;
    size_t increased;

    want(&a, 11, 64, true, 0);
    assert_int_equal(start(n, &a, "exec sleep 1000", &why), 0);
    l = run(w);
    want(&a, 11, 64, false, 1);
    assert_int_equal(update(n, &a, &why), 0);
    assert_int_equal(l->c->view.type, NM_GUARANTEED);
    assert_int_equal(status_of(n, &increased).execution_type, 1);
    assert_int_equal(increased, 0);
    assert_int_equal(update(n, &a, &why), NM_YARN_REFUSED); /* the same version of the container again */
    assert_non_null(strstr(why.message, "version [1] >= requested version [1]"));
    want(&a, 11, 96, false, 2);
    assert_int_equal(update(n, &a, &why), 0);
    assert_int_equal(l->c->view.request.memory_bytes, 96 * MIB);
    (void)status_of(n, &increased);
    assert_int_equal(increased, 1);
    nm_yarn_node_reported(n);
    (void)status_of(n, &increased);
    assert_int_equal(increased, 0);
    nm_yarn_node_free(n);
}

/* A signal to a container has the same effect as in Hadoop. Signals to containers without processes are ignored. */
static void test_a_signal_reaches_the_container(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    struct nm_problem p;
    struct nm_live_container *l;
    const char *text;
    struct wanted a;

    want(&a, 12, 64, true, 0);
    assert_int_equal(start(n, &a, "exec sleep 1000", &why), 0);
    /* the signal is ignored during the preparation */
    assert_int_equal(nm_yarn_node_signal(n, &a.ids.container, 2, &why), 0);
    l = run(w);
    assert_int_equal(nm_yarn_node_signal(n, &a.ids.container, 1, &why), 0);
    assert_int_equal(nm_manager_pause(w->m, &manager_fixture_admin, l->c->id, &p), 0);
    assert_int_equal(nm_yarn_node_signal(n, &a.ids.container, 1, &why), 0);
    assert_int_equal(status_of(n, NULL).exit_status, NM_YARN_INVALID);
    assert_int_equal(nm_yarn_node_signal(n, &a.ids.container, 3, &why), 0);
    assert_int_equal(nm_yarn_node_stop(n, &a.ids.container, NM_YARN_KILLED_BY_MASTER, "Too late.", &why), 0);
    end_it(w, l);
    assert_int_equal(status_of(n, NULL).exit_status, 137);
    text = strstr(status_of(n, NULL).diagnostics, "]Sent signal OUTPUT_THREAD_DUMP (SIGQUIT) to pid ");
    text = strstr(text ?: "", "]Sent signal FORCEFUL_SHUTDOWN (SIGKILL) to pid ");
    assert_non_null(strstr(text ?: "", ", result=success\n["));
    assert_non_null(strstr(text, "]Killed by external signal\n"));
    assert_int_equal(nm_yarn_node_signal(n, &a.ids.container, 3, &why), 0);
    nm_yarn_node_free(n);
}

/* If one of the two changes in a token can't be made, the other change isn't made either. */
static void test_an_update_makes_all_changes_or_none(void **state)
{
    static const char *const argv[] = {"/bin/sleep", "1000", NULL};
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    struct nm_live_container *l;
    struct wanted a;
    size_t increased;

    want(&a, 14, 64, true, 0);
    assert_int_equal(start(n, &a, "exec sleep 1000", &why), 0);
    l = run(w);
    manager_fixture_wait(w, manager_fixture_submit_as(w, &(struct nm_submit){
        .type = NM_GUARANTEED, .memory_bytes = 400 * MIB, .vcores_milli = 1000, .argv = argv, .owner = "local"}),
        is_running);
    want(&a, 14, 700, false, 1); /* this size would fit, but can't be guaranteed */
    assert_int_equal(update(n, &a, &why), NM_YARN_REFUSED);
    assert_int_equal(l->c->view.type, NM_OPPORTUNISTIC);
    assert_int_equal(l->c->view.request.memory_bytes, 64 * MIB);
    assert_int_equal(status_of(n, &increased).capability->memory, 64);
    assert_int_equal(increased, 0);
    want(&a, 14, 96, false, 1);
    assert_int_equal(update(n, &a, &why), 0); /* the version of the refused update can be used again */
    assert_int_equal(l->c->view.type, NM_GUARANTEED);
    assert_int_equal(l->c->view.request.memory_bytes, 96 * MIB);
    (void)status_of(n, &increased);
    assert_int_equal(increased, 1);
    nm_yarn_node_free(n);
}

/* The node knows an application until the application ends, since the outputs of its containers stay on the node, even
 * if no container of the application is known any more. The name of the submitter is kept as well. */
static void test_an_application_survives_a_restart_of_nmd(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    struct nm_live_container *l;
    struct wanted a;

    want(&a, 15, 64, false, 0);
    fake_launcher.submitter = a.ids.token.submitter = (char *)(uintptr_t) "alice@corp";
    pack(&a);
    assert_int_equal(start(n, &a, "exec sleep 1000", &why), 0);
    l = run(w);
    end_it(w, l);
    nm_yarn_node_acknowledge(n, &a.ids.container);
    assert_int_equal(count(n), 0);
    for (size_t still = 1;; still--) {
        assert_int_equal(count_applications(n), still);
        nm_yarn_node_free(n);
        manager_fixture_restart(w);
        n = fake_launcher_node(w);
        assert_int_equal(count_applications(n), still);
        if (still == 0)
            break;
        nm_yarn_node_end_application(n, &a.ids.application);
        assert_int_equal(fake_launcher.ended_applications, 1);
        assert_int_equal(fake_launcher.n_ended_callbacks, 1);
    }
    nm_yarn_node_free(n);
}

/* A container that was never submitted to the manager has ended. The next nmd must know of its end as well. */
static void test_the_end_of_a_container_never_submitted_survives_a_restart(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    struct wanted a;

    fake_launcher.no_dirs = "No directory is good.";
    want(&a, 16, 64, false, 3);
    assert_int_equal(start(n, &a, "true", &why), 0);
    for (int i = 0; i < 2; i++) {
        nm_yarn_node_free(n);
        manager_fixture_restart(w);
        n = fake_launcher_node(w);
        assert_int_equal(status_of(n, NULL).exit_status, NM_YARN_INVALID);
        assert_non_null(strstr(status_of(n, NULL).diagnostics, fake_launcher.no_dirs));
        assert_int_equal(start(n, &a, "true", &why), NM_YARN_REFUSED);
    }
    nm_yarn_node_acknowledge(n, &a.ids.container);
    nm_yarn_node_free(n);
    manager_fixture_restart(w);
    n = fake_launcher_node(w);
    assert_int_equal(count(n), 0);
    nm_yarn_node_free(n);
}

#define MANY 300
#define LONG 8000 /* so long that all messages together exceed the limit of a heartbeat more than twice */

/* Makes a heartbeat and returns how many of its containers have ended. All containers must be in the heartbeat. */
static size_t beat(struct nm_yarn_node *n)
{
    Yarn__NodeStatus status = YARN__NODE_STATUS__INIT;
    struct nm_arena arena;
    size_t ended = 0;

    nm_arena_init(&arena, 1 << 20, NULL);
    assert_int_equal(nm_yarn_node_report(n, &arena, &status), 0);
    assert_in_range(protobuf_c_message_get_packed_size(&status.base), 1, 2 << 20);
    for (size_t i = 0; i < status.n_containers; i++)
        if (status.containers[i]->state == 3) {
            assert_int_equal(status.containers[i]->exit_status, NM_YARN_INVALID);
            ended++;
        } else {
            /* a container that is missing in the heartbeat would count as lost */
            assert_int_equal(status.containers[i]->state, 2);
            assert_int_equal(status.containers[i]->exit_status, NM_YARN_INVALID);
            assert_string_equal(status.containers[i]->diagnostics, "");
        }
    nm_arena_done(&arena);
    return ended;
}

/* The size of a registration is limited, as that of a heartbeat is. */
static void assert_registration_is_small(struct nm_yarn_node *n)
{
    Yarn__RegisterRequest request = YARN__REGISTER_REQUEST__INIT;
    struct nm_arena arena;

    nm_arena_init(&arena, 1 << 20, NULL);
    assert_int_equal(nm_yarn_node_report_all(n, &arena, &request), 0);
    assert_int_equal(request.n_containers, MANY);
    assert_in_range(protobuf_c_message_get_packed_size(&request.base), 1, 2 << 20);
    nm_arena_done(&arena);
}

/* More containers have ended, with long diagnostics, than fit into one heartbeat. */
static void test_ends_that_do_not_fit_are_reported_in_the_next_heartbeat(void **state)
{
    struct nm_yarn_node *n = fake_launcher_node(*state);
    struct nm_exception why;
    struct wanted a;
    char text[LONG + 1];
    size_t first;

    (void)memset(text, 'x', LONG);
    text[LONG] = '\0';
    fake_launcher.no_dirs = text;
    for (int k = 0; k < MANY; k++) {
        want(&a, 1000 + k, 64, false, 0);
        assert_int_equal(start(n, &a, "true", &why), 0);
    }
    fake_launcher.n_updates = 0;
    first = beat(n);
    assert_in_range(first, MANY / 4, MANY / 2);
    assert_int_equal(beat(n), first); /* without an acknowledgement the same ends are reported again */
    nm_yarn_node_reported(n);
    assert_int_equal(fake_launcher.n_updates, 1); /* the node requests an early heartbeat for the other ends */
    assert_int_equal(beat(n), first);
    nm_yarn_node_reported(n);
    assert_int_equal(fake_launcher.n_updates, 2);
    assert_int_equal(beat(n), first); /* the last ends, and earlier ends in the remaining space */
    nm_yarn_node_reported(n);
    assert_int_equal(fake_launcher.n_updates, 2);
    assert_registration_is_small(n);
    assert_int_equal(beat(n), first);
    nm_yarn_node_reported(n);
    assert_int_equal(fake_launcher.n_updates, 3); /* after a registration all ends are reported again */
    nm_yarn_node_free(n);
}

static void test_the_end_of_an_application_ends_its_containers(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    struct nm_live_container *l;
    struct wanted a;

    want(&a, 12, 64, false, 0);
    assert_int_equal(start(n, &a, "exec sleep 1000", &why), 0);
    l = run(w);
    nm_yarn_node_end_application(n, &a.ids.application);
    nm_yarn_node_end_application(n, &a.ids.application);
    assert_int_equal(fake_launcher.ended_applications, 0);
    end_it(w, l);
    assert_int_equal(count(n), 0); /* no caller acknowledges containers of an ended application */
    assert_int_equal(fake_launcher.ended_applications, 1);
    assert_int_equal(fake_launcher.n_ended_callbacks, 1);
    nm_yarn_node_free(n);
}

/* After a restart, the new nmd reports the same state, which it reads from the journal. It recognizes the token with
 * which the container was started. */
static void test_after_a_restart_the_node_reports_the_same_containers(void **state)
{
    Yarn__RegisterRequest request = YARN__REGISTER_REQUEST__INIT;
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    struct nm_arena arena;
    struct wanted a;

    want(&a, 13, 64, false, 0);
    assert_int_equal(start(n, &a, "exec sleep 1000", &why), 0);
    assert_false(nm_yarn_node_has_adopted(n, &a.ids.container, (struct nm_bytes){a.bytes, a.size}));
    nm_yarn_node_free(n);
    manager_fixture_restart(w);
    n = fake_launcher_node(w);
    assert_false(fake_launcher.newest->retains); /* the preparation starts again */
    assert_true(nm_yarn_node_has_adopted(n, &a.ids.container, (struct nm_bytes){a.bytes, a.size}));
    assert_false(nm_yarn_node_has_adopted(n, &a.ids.container, (struct nm_bytes){a.bytes, a.size - 1}));
    nm_arena_init(&arena, 1 << 20, NULL);
    assert_int_equal(nm_yarn_node_report_all(n, &arena, &request), 0);
    assert_int_equal(request.n_containers, 1);
    assert_int_equal(request.containers[0]->state, 2);
    assert_int_equal(request.containers[0]->resource->memory, 64);
    assert_int_equal(request.n_applications, 1);
    assert_int_equal(request.applications[0]->id, 1);
    nm_arena_done(&arena);
    assert_int_equal(nm_yarn_node_stop(n, &a.ids.container, NM_YARN_KILLED_BY_RM, "Away.", &why), 0);
    manager_fixture_settle(w);
    assert_int_equal(status_of(n, NULL).exit_status, NM_YARN_KILLED_BY_RM);
    nm_yarn_node_free(n);
    manager_fixture_restart(w);
    n = fake_launcher_node(w);
    /* the end is kept until its acknowledgement */
    assert_int_equal(status_of(n, NULL).exit_status, NM_YARN_KILLED_BY_RM);
    nm_yarn_node_acknowledge(n, &a.ids.container);
    assert_int_equal(count(n), 0);
    nm_yarn_node_free(n);
}

/* Another node has assigned the container number -1, which has the same text as 1099511627775. nmd knows the container
 * by its number, also after a restart. As long as nmd knows this container, a container with the other number is
 * refused. */
static void test_two_container_numbers_with_the_same_text_are_distinguished(void **state)
{
    Yarn__RegisterRequest request = YARN__REGISTER_REQUEST__INIT;
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct wanted a, other;
    struct nm_exception why;
    struct nm_arena arena;

    want(&a, -1, 64, true, 0);
    want(&other, 1099511627775, 64, true, 0);
    assert_int_equal(start(n, &a, "exec sleep 1000", &why), 0);
    assert_int_equal(start(n, &other, "exec sleep 1000", &why), NM_YARN_REFUSED);
    assert_string_equal(w->m->live.all[0]->c->id, "container_1410901177871_0001_01_1099511627775");
    nm_yarn_node_free(n);
    manager_fixture_restart(w);
    n = fake_launcher_node(w);
    nm_arena_init(&arena, 1 << 20, NULL);
    assert_int_equal(nm_yarn_node_report_all(n, &arena, &request), 0);
    assert_int_equal(request.n_containers, 1);
    assert_int_equal(request.containers[0]->id->id, -1);
    assert_int_equal(request.containers[0]->execution_type, 2);
    nm_arena_done(&arena);
    assert_int_equal(nm_yarn_node_stop(n, &other.ids.container, NM_YARN_KILLED_BY_RM, "Away.", &why), NM_YARN_REFUSED);
    nm_yarn_node_acknowledge(n, &other.ids.container);
    assert_int_equal(count(n), 1);
    assert_int_equal(nm_yarn_node_stop(n, &a.ids.container, NM_YARN_KILLED_BY_RM, "Away.", &why), 0);
    manager_fixture_settle(w);
    assert_int_equal(status_of(n, NULL).exit_status, NM_YARN_KILLED_BY_RM);
    nm_yarn_node_acknowledge(n, &a.ids.container);
    assert_int_equal(count(n), 0);
    nm_yarn_node_free(n);
}

/* ---- failures of allocations -------------------------------------------------------------- */

static void count_live(const struct nm_container *c, void *userdata)
{
    *(unsigned *)userdata += c->view.state != NM_COMPLETED;
}

/* After a lack of memory at any point, a start is either refused and leaves no container, or the end of the container
 * is reported. */
static void test_a_start_without_memory_is_refused_or_complete(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    struct wanted a;
    bool failed = true;

    for (int64_t number = 1; failed; number++) {
        unsigned live = 0;
        int r;

        want(&a, number, 64, false, 0);
        fail_nth(FAIL_MEMORY, (unsigned)number);
        r = start(n, &a, "exec sleep 1000", &why);
        failed = fail_stop();
        assert_true(r == 0 || (failed && r == -ENOMEM));
        assert_int_equal(count(n), r == 0);
        assert_int_equal(nm_yarn_node_stop(n, &a.ids.container, NM_YARN_KILLED_BY_RM, "Away.", &why),
                         r == 0 ? 0 : NM_YARN_REFUSED);
        manager_fixture_settle(w);
        if (r == 0)
            assert_int_equal(status_of(n, NULL).state, 3);
        nm_yarn_node_acknowledge(n, &a.ids.container);
        assert_int_equal(count(n), 0);
        nm_manager_foreach_of(w->m, NM_YARN_OWNER, count_live, &live);
        assert_int_equal(live, 0);
    }
    assert_true(a.ids.container.id > 20);
    nm_yarn_node_free(n);
}

/* After a lack of memory at any point, an update has either been done or has changed nothing. */
static void test_an_update_without_memory_is_complete_or_has_no_effect(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    bool failed = true;
    struct nm_live_container *l;
    struct wanted a;
    int64_t mib = 64;

    want(&a, 17, mib, false, 0);
    assert_int_equal(start(n, &a, "exec sleep 1000", &why), 0);
    l = run(w);
    for (int32_t k = 1; failed; k++) {
        want(&a, 17, mib ^ 32, false, k);
        fail_nth(FAIL_MEMORY, (unsigned)k);
        mib = update(n, &a, &why) == 0 ? mib ^ 32 : mib;
        failed = fail_stop();
        assert_int_equal(l->c->view.request.memory_bytes, (uint64_t)mib * MIB);
        assert_int_equal(status_of(n, NULL).capability->memory, mib);
    }
    nm_yarn_node_free(n);
}

/* After a failed start of nmd, the state of the former nmd still exists for the next nmd. */
static void test_a_failed_start_of_nmd_keeps_the_saved_state(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    bool failed = true;
    struct wanted a;
    unsigned refused = 0;

    /* one container has ended, one has never started, and one is being prepared */
    for (int64_t number = 5; number < 8; number++) {
        fake_launcher.no_dirs = number == 6 ? "There is none." : NULL;
        want(&a, number, 64, false, 0);
        assert_int_equal(start(n, &a, "exec sleep 1000", &why), 0);
        if (number == 5)
            assert_int_equal(nm_yarn_node_stop(n, &a.ids.container, NM_YARN_KILLED_BY_RM, "Away.", &why), 0);
        manager_fixture_settle(w);
    }
    nm_yarn_node_free(n);
    for (unsigned k = 1; failed; k++) {
        struct nm_yarn_node *next = NULL;

        fail_nth(FAIL_MEMORY | FAIL_EVENT | FAIL_OPEN, k);
        refused += fake_launcher_try_node(w, &next) < 0;
        failed = fail_stop();
        nm_yarn_node_free(next);
    }
    assert_true(refused > 10);
    n = fake_launcher_node(w);
    assert_int_equal(count(n), 3);
    assert_int_equal(count_applications(n), 1);
    assert_int_equal(nm_yarn_node_stop(n, &a.ids.container, NM_YARN_KILLED_BY_RM, "Away.", &why), 0);
    manager_fixture_settle(w);
    nm_yarn_node_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_container_of_the_cluster_starts_runs_and_ends),
        TEST(test_the_node_reports_its_room),
        TEST(test_requests_for_unknown_containers_are_refused),
        TEST(test_a_container_that_can_not_run_is_reported_as_ended),
        TEST(test_a_failed_preparation_ends_the_container),
        TEST(test_an_update_changes_the_size_and_the_execution_type),
        TEST(test_an_update_makes_all_changes_or_none),
        TEST(test_a_signal_reaches_the_container),
        TEST(test_the_end_of_an_application_ends_its_containers),
        TEST(test_after_a_restart_the_node_reports_the_same_containers),
        TEST(test_ends_that_do_not_fit_are_reported_in_the_next_heartbeat),
        TEST(test_an_application_survives_a_restart_of_nmd),
        TEST(test_the_end_of_a_container_never_submitted_survives_a_restart),
        TEST(test_two_container_numbers_with_the_same_text_are_distinguished),
        TEST(test_a_refused_start_leaves_no_container),
        TEST(test_a_container_with_an_unsupported_runtime_ends),
        TEST(test_when_the_node_is_shut_down_all_containers_end),
        TEST(test_a_start_without_memory_is_refused_or_complete),
        TEST(test_an_update_without_memory_is_complete_or_has_no_effect),
        TEST(test_a_failed_start_of_nmd_keeps_the_saved_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
