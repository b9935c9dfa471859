/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The interface between nmd and an owner of containers, with a complete manager and real journal, shims and commands.
 * The test needs no upstream.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>

#include "tests/unit/manager-fixture.h"
#include "agent/journal/containers.h"
#include "agent/manager/manager-internal.h"
#include "cgroup/backend-fake.h"
#include "util/clock.h"

#define OWNER "upstream"
#define YARNS "container_e17_1410901177871_0001_01_000005"
#define TEST(name) cmocka_unit_test_setup_teardown(name, manager_fixture_set_up_real, manager_fixture_tear_down_real)

static struct nm_submit request(enum nm_execution_type type)
{
    static const char *const argv[] = {"/bin/sh", "-c", "exec sleep 1000", NULL};

    return (struct nm_submit){
        .type = type, .memory_bytes = 64 * MIB, .vcores_milli = 1000, .argv = argv, .owner = OWNER};
}

static struct nm_container *known(struct manager_fixture *w, const char *id)
{
    struct nm_container *c = nm_lists_by_id(w->m, id);

    assert_non_null(c);
    return c;
}

static bool is_running(const struct nm_live_container *l)
{
    return l->c->view.state == NM_RUNNING;
}

/* ---- causes of a container's end ----------------------------------------------------------------- */

static struct nm_container *end_it(struct manager_fixture *w, struct nm_live_container *l)
{
    struct nm_container *c = l->c;

    manager_fixture_settle(w);
    if (c->view.state != NM_COMPLETED) { /* the container is running */
        assert_int_equal(kill(l->c->pid, SIGKILL), 0); /* the fake cgroup's kill sends no signal to processes */
        manager_fixture_wait(w, l, manager_fixture_shim_is_gone);
        assert_int_equal(nm_fake_set_events(l->cg, false, false), 0);
    }
    manager_fixture_settle(w);
    assert_int_equal(c->view.state, NM_COMPLETED);
    return c;
}

static void test_a_container_ended_by_its_owner_has_the_owners_code(void **state)
{
    struct nm_end first = {.code = -105, .message = "its master asked for it"}, second = {.code = -106, .now = true};
    struct nm_submit s = request(NM_GUARANTEED);
    struct manager_fixture *w = *state;
    struct nm_problem p;
    struct nm_live_container *l;
    char id[NM_ID_SIZE];

    manager_fixture_start(w);
    l = manager_fixture_submit_as(w, &s);
    strcpy(id, l->c->id);
    manager_fixture_wait(w, l, is_running);
    assert_int_equal(nm_manager_end(w->m, "another", id, &first, &p), NM_AGENT_E_NOT_FOUND);
    assert_int_equal(nm_manager_end(w->m, OWNER, "container_1_000099", &first, &p), NM_AGENT_E_NOT_FOUND);
    assert_int_equal(nm_manager_end(w->m, OWNER, id, &first, &p), 0);
    /* a second request to end the container, for another reason */
    assert_int_equal(nm_manager_end(w->m, OWNER, id, &second, &p), 0);
    assert_int_equal(end_it(w, l)->exit_reason, NM_EXIT_KILLED);
    for (int i = 0; i < 2; i++) {
        const struct nm_container *c = known(w, id);

        assert_int_equal(c->owner_code, -105);
        assert_int_equal(c->exit_cause, NM_REASON_OWNER);
        assert_true(c->exit_decision > 0);
        assert_string_equal(c->message, "its master asked for it");
        assert_int_equal(nm_manager_end(w->m, OWNER, id, &first, &p), NM_AGENT_E_CONFLICT);
        manager_fixture_restart(w);
    }
}

/* A container that a user ends has the cause USER and no code of its owner. The owner can thus distinguish its own
 * requests from those of users. */
static void test_a_container_ended_by_a_user_has_the_cause_user(void **state)
{
    struct nm_submit s = request(NM_GUARANTEED);
    struct manager_fixture *w = *state;
    const struct nm_container *c;
    struct nm_problem p;
    struct nm_live_container *l;

    l = manager_fixture_submit_as(w, &s);
    assert_int_equal(nm_manager_kill(w->m, &manager_fixture_admin, l->c->id, false, &p), 0);
    c = end_it(w, l);
    assert_int_equal(c->exit_reason, NM_EXIT_KILLED);
    assert_int_equal(c->exit_cause, NM_REASON_USER);
    assert_int_equal(c->owner_code, 0);
}

/* A kill by the policy is reported with the figures that caused it. A container whose command exits has no cause. */
static void test_a_kill_by_the_policy_is_reported_with_its_figures(void **state)
{
    struct nm_submit guaranteed = request(NM_GUARANTEED), opportunistic = request(NM_OPPORTUNISTIC);
    struct manager_fixture *w = *state;
    const struct nm_container *c;
    struct nm_live_container *l, *waits;

    manager_fixture_start(w);
    opportunistic.memory_bytes = 600 * MIB;
    l = manager_fixture_submit_as(w, &opportunistic);
    manager_fixture_wait(w, l, is_running);
    guaranteed.memory_bytes = 700 * MIB;
    waits = manager_fixture_submit_as(w, &guaranteed);
    manager_fixture_settle(w);
    assert_int_equal(l->c->view.state, NM_KILLING);
    assert_int_equal(l->c->exit_decision, l->decision.number);
    c = end_it(w, l);
    assert_int_equal(c->exit_reason, NM_EXIT_PREEMPTED);
    assert_int_equal(c->exit_cause, NM_REASON_ROOM_FOR_GUARANTEED);
    manager_fixture_wait(w, waits, is_running);
}

/* ---- signals ------------------------------------------------------------------------------------- */

static int signal_it(struct manager_fixture *w, const struct nm_live_container *l, int signo, struct nm_problem *p)
{
    return nm_manager_signal(w->m, OWNER, l->c->id, signo, p);
}

/* This test checks no receivers, since a fake cgroup has no member processes. test-cgroup-direct.c tests which
 * processes of a real cgroup receive the signal. */
static void test_a_signal_reaches_the_container(void **state)
{
    struct nm_submit s = request(NM_OPPORTUNISTIC);
    struct manager_fixture *w = *state;
    struct nm_problem p;
    struct nm_live_container *l;

    l = manager_fixture_submit_as(w, &s);
    assert_int_equal(signal_it(w, l, SIGQUIT, &p), NM_AGENT_E_CONFLICT); /* the container is queued */
    assert_non_null(strstr(p.message, "SIGQUIT"));
    manager_fixture_start(w);
    manager_fixture_wait(w, l, is_running);
    assert_int_equal(nm_manager_signal(w->m, "another", l->c->id, SIGQUIT, &p), NM_AGENT_E_NOT_FOUND);
    assert_int_equal(signal_it(w, l, SIGQUIT, &p), 0);
    assert_int_equal(l->c->view.state, NM_RUNNING);
    assert_int_equal(nm_manager_pause(w->m, &manager_fixture_admin, l->c->id, &p), 0);
    assert_int_equal(signal_it(w, l, SIGQUIT, &p), NM_AGENT_E_CONFLICT);
    assert_int_equal(signal_it(w, l, SIGKILL, &p), 0);
    assert_int_equal(l->c->view.state, NM_KILLING);
    assert_int_equal(l->decision.reason, NM_REASON_OWNER);
    /* all processes of the container have exited */
    assert_int_equal(signal_it(w, l, SIGTERM, &p), NM_AGENT_E_CONFLICT);
    assert_int_equal(signal_it(w, l, SIGKILL, &p), 0);
    (void)end_it(w, l);
}

static void test_a_signal_kills_a_queued_container(void **state)
{
    struct nm_submit s = request(NM_OPPORTUNISTIC);
    struct manager_fixture *w = *state;
    const struct nm_container *c;
    struct nm_problem p;
    struct nm_live_container *l;

    l = manager_fixture_submit_as(w, &s);
    c = l->c;
    assert_int_equal(signal_it(w, l, SIGKILL, &p), 0);
    manager_fixture_settle(w);
    assert_int_equal(c->view.state, NM_COMPLETED);
    assert_int_equal(c->exit_cause, NM_REASON_OWNER);
    assert_int_equal(nm_manager_signal(w->m, OWNER, c->id, SIGKILL, &p), NM_AGENT_E_CONFLICT);
}

/* ---- ids chosen by owners ------------------------------------------------------------------------ */

static struct nm_live_container *submit_id(struct manager_fixture *w, const char *id)
{
    struct nm_submit s = request(NM_GUARANTEED);

    s.id = id;
    return manager_fixture_submit_as(w, &s);
}

static int try_id(struct manager_fixture *w, const char *id)
{
    struct nm_submit s = request(NM_GUARANTEED);
    const struct nm_container *c;
    struct nm_problem p = {0};
    int r;

    s.id = id;
    r = manager_fixture_try(w, &s, &c, &p);
    assert_string_equal(p.thing, "id");
    return r;
}

static void test_invalid_ids_are_refused(void **state)
{
    static const char *const bad[] = {
        "", "container_", "5", "task_1", "container_1/2", "container_1.2", "container_../x", "container_a b",
        "container_a-b", "Container_a", "container_1_000001", /* ids in the form of those that nmd assigns */
        "container_e1234567_1410901177871_1234567890_12345_1099511627775_",
    };
    struct manager_fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++)
        assert_int_equal(try_id(w, bad[i]), NM_AGENT_E_INVALID);
    /* Submit a container with the longest id that YARN can assign, one with an id that looks like nmd's own ids, and
     * others. */
    (void)submit_id(w, "container_e1234567_1410901177871_1234567890_12345_1099511627775");
    (void)submit_id(w, "container_1_1");
    (void)submit_id(w, "container_a");
}

/* The id is part of all names of the container, also after a restart. No other container can get the id while nmd knows
 * this container. */
static void test_an_id_chosen_by_an_owner_survives_a_restart(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l, *own;
    struct nm_problem p;
    uint64_t seq;

    manager_fixture_start(w);
    l = submit_id(w, YARNS);
    seq = l->c->view.seq;
    assert_int_equal(try_id(w, YARNS), NM_AGENT_E_CONFLICT);
    manager_fixture_wait(w, l, is_running);
    assert_non_null(strstr(l->cg->name, YARNS));
    assert_true(fake_tree_has(&w->tree, "state/containers/" YARNS "/gate"));
    assert_int_equal(nm_manager_kill(w->m, &manager_fixture_admin, YARNS, true, &p), 0);
    (void)end_it(w, l);
    assert_int_equal(try_id(w, YARNS), NM_AGENT_E_CONFLICT);
    manager_fixture_restart(w);
    assert_int_equal(known(w, YARNS)->view.seq, seq);
    assert_int_equal(try_id(w, YARNS), NM_AGENT_E_CONFLICT);
    own = submit_id(w, NULL); /* the numbers that nmd assigns to containers continue after the restart */
    assert_int_equal(own->c->view.seq, seq + 1);
}

/* After a container has been removed, no file remains that a new container with the same id could use by mistake. */
static void test_an_id_can_be_used_again_after_a_removal(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_problem p;
    struct nm_live_container *l;

    manager_fixture_start(w);
    l = submit_id(w, YARNS);
    manager_fixture_wait(w, l, is_running);
    assert_int_equal(nm_manager_kill(w->m, &manager_fixture_admin, YARNS, true, &p), 0);
    (void)end_it(w, l);
    (void)nm_lists_drop_ended(w->m, UINT64_MAX);
    fake_tree_write(&w->tree, "state/containers/" YARNS "/gate", ""); /* a former removal of this file has failed */
    l = submit_id(w, YARNS);
    assert_false(fake_tree_has(&w->tree, "state/containers/" YARNS "/gate"));
    manager_fixture_wait(w, l, is_running);
    assert_true(fake_tree_has(&w->tree, "state/containers/" YARNS "/gate"));
}

/* The journal is lost. The snapshot of the container contains the id as well. */
static void test_an_id_chosen_by_an_owner_survives_the_loss_of_the_journal(void **state)
{
    struct manager_fixture *w = *state;

    manager_fixture_start(w);
    manager_fixture_wait(w, submit_id(w, YARNS), is_running);
    w->m = nm_manager_free(w->m);
    fake_tree_unlink(&w->tree, "state/nmd.db");
    manager_fixture_restart(w);
    assert_string_equal(known(w, YARNS)->owner, OWNER);
}

/* ---- blobs --------------------------------------------------------------------------------------- */

static void assert_blob(struct manager_fixture *w, const char *id, const char *text)
{
    const struct nm_container *c = known(w, id);

    assert_int_equal(c->blob.bytes, strlen(text));
    if (*text)
        assert_memory_equal(c->blob.data, text, strlen(text));
}

static struct nm_blob blob_of(const char *text)
{
    return (struct nm_blob){.data = (void *)(uintptr_t)text, .bytes = strlen(text)};
}

static void count(const struct nm_container *c, void *userdata)
{
    unsigned *n = userdata;

    assert_string_equal(c->owner, OWNER);
    ++*n;
}

static unsigned n_of(struct manager_fixture *w, const char *owner)
{
    unsigned n = 0;

    nm_manager_foreach_of(w->m, owner, count, &n);
    return n;
}

/* The blob exists as long as the container, also after a restart and after the loss of the journal. */
static void test_a_blob_survives_a_restart_and_the_loss_of_the_journal(void **state)
{
    const struct nm_blob other = blob_of("another"), none = {0};
    struct nm_submit s = request(NM_GUARANTEED);
    struct manager_fixture *w = *state;
    struct nm_problem p;

    manager_fixture_start(w);
    s.id = YARNS;
    s.blob = blob_of("one");
    manager_fixture_wait(w, manager_fixture_submit_as(w, &s), is_running);
    assert_blob(w, YARNS, "one");
    manager_fixture_restart(w);
    assert_blob(w, YARNS, "one");
    assert_int_equal(nm_manager_set_blob(w->m, "somebody", YARNS, &other, &p), NM_AGENT_E_NOT_FOUND);
    assert_int_equal(nm_manager_set_blob(w->m, OWNER, YARNS, &other, &p), 0);
    w->m = nm_manager_free(w->m);
    fake_tree_unlink(&w->tree, "state/nmd.db");
    manager_fixture_restart(w);
    assert_blob(w, YARNS, "another");
    manager_fixture_restart(w); /* the new journal contains the blob */
    assert_blob(w, YARNS, "another");
    assert_int_equal(n_of(w, OWNER), 1);
    assert_int_equal(n_of(w, "local"), 0);
    assert_int_equal(nm_manager_set_blob(w->m, OWNER, YARNS, &none, &p), 0);
    assert_blob(w, YARNS, "");
}

static void test_a_blob_is_removed_with_its_container(void **state)
{
    const struct nm_blob other = blob_of("another");
    struct nm_submit s = request(NM_GUARANTEED);
    struct manager_fixture *w = *state;
    struct nm_problem p;
    struct nm_live_container *l;

    s.id = YARNS;
    s.blob = blob_of("one");
    l = manager_fixture_submit_as(w, &s);
    assert_int_equal(nm_manager_kill(w->m, &manager_fixture_admin, YARNS, true, &p), 0);
    (void)end_it(w, l);
    assert_blob(w, YARNS, "");
    assert_int_equal(nm_manager_set_blob(w->m, OWNER, YARNS, &other, &p), NM_AGENT_E_CONFLICT);
    manager_fixture_restart(w);
    assert_blob(w, YARNS, "");
}

/* The sum of the sizes of all blobs is limited, and so is the sum of the sizes of all commands. */
static void test_the_total_size_of_blobs_is_limited(void **state)
{
    char *large = calloc(1, NM_BLOB_MAX + 1);
    struct nm_blob blob = {.data = large, .bytes = NM_BLOB_MAX + 1};
    struct nm_submit s = request(NM_OPPORTUNISTIC);
    struct manager_fixture *w = *state;
    const struct nm_container *c;
    struct nm_problem p = {0};
    struct nm_live_container *small;
    unsigned n = 0;
    int r;

    assert_non_null(large);
    w->m->config->max_containers = w->m->settings.queue_max_length = 100;
    small = manager_fixture_submit_as(w, &s);
    assert_int_equal(nm_manager_set_blob(w->m, OWNER, small->c->id, &blob, &p), NM_AGENT_E_INVALID);
    s.blob = blob;
    assert_int_equal(manager_fixture_try(w, &s, &c, &p), NM_AGENT_E_INVALID);
    assert_string_equal(p.thing, "blob");
    s.blob.bytes = blob.bytes = NM_BLOB_MAX;
    while ((r = manager_fixture_try(w, &s, &c, &p)) == 0)
        n++;
    assert_int_equal(r, NM_AGENT_E_UNAVAILABLE);
    assert_in_range(n, 32, 64);
    assert_int_equal(nm_manager_set_blob(w->m, OWNER, small->c->id, &blob, &p), NM_AGENT_E_UNAVAILABLE);
    /* the bytes of this blob are counted already */
    assert_int_equal(nm_manager_set_blob(w->m, OWNER, c->id, &blob, &p), 0);
    free(large);
}

/* ---- results until their acknowledgement --------------------------------------------------------- */

static void test_a_result_is_kept_until_its_acknowledgement(void **state)
{
    struct nm_status status;
    struct nm_submit s = request(NM_GUARANTEED);
    struct manager_fixture *w = *state;
    struct nm_problem p;
    struct nm_live_container *l;

    s.id = YARNS;
    s.blob = blob_of("one");
    s.keep_result = true;
    l = manager_fixture_submit_as(w, &s);
    assert_int_equal(nm_manager_acknowledge(w->m, OWNER, YARNS, &p), NM_AGENT_E_CONFLICT);
    assert_int_equal(nm_manager_kill(w->m, &manager_fixture_admin, YARNS, true, &p), 0);
    (void)end_it(w, l);
    for (int i = 0; i < 2; i++) {
        (void)nm_lists_drop_ended(w->m, UINT64_MAX);
        assert_int_equal(known(w, YARNS)->exit_reason, NM_EXIT_KILLED);
        assert_blob(w, YARNS, "one");
        nm_manager_get_status(w->m, &status);
        assert_int_equal(status.kept_results, 1);
        manager_fixture_restart(w);
    }
    assert_int_equal(nm_manager_acknowledge(w->m, "somebody", YARNS, &p), NM_AGENT_E_NOT_FOUND);
    assert_int_equal(nm_manager_acknowledge(w->m, OWNER, YARNS, &p), 0);
    assert_int_equal(nm_manager_acknowledge(w->m, OWNER, YARNS, &p), 0);
    nm_manager_get_status(w->m, &status);
    assert_int_equal(status.kept_results, 0);
    assert_int_equal(w->m->ended.results_bytes, 0);
    assert_blob(w, YARNS, "");
    manager_fixture_restart(w); /* the next nmd knows of the acknowledgement, too */
    assert_false(known(w, YARNS)->keep_result);
    (void)nm_lists_drop_ended(w->m, UINT64_MAX);
    assert_null(nm_lists_by_id(w->m, YARNS));
}

/* An owner with too many unacknowledged results can't submit containers whose results must be kept. Other owners can
 * submit containers. */
static void test_the_number_of_unacknowledged_results_is_limited(void **state)
{
    struct nm_submit s = request(NM_OPPORTUNISTIC);
    struct manager_fixture *w = *state;
    const struct nm_container *c;
    struct nm_problem p = {0};

    w->m->ended.n_results = NM_RESULTS_MAX;
    s.keep_result = true;
    assert_int_equal(manager_fixture_try(w, &s, &c, &p), NM_AGENT_E_UNAVAILABLE);
    assert_string_equal(p.thing, "results");
    w->m->ended.n_results--;
    (void)manager_fixture_submit_as(w, &s);
    assert_int_equal(manager_fixture_try(w, &s, &c, &p), NM_AGENT_E_UNAVAILABLE);
    s.keep_result = false;
    (void)manager_fixture_submit_as(w, &s);
}

/* ---- preparation before the queue ---------------------------------------------------------------- */

static struct nm_live_container *prepare(struct manager_fixture *w, enum nm_execution_type type)
{
    struct nm_submit s = request(type);
    struct nm_live_container *l;

    s.prepare = true;
    l = manager_fixture_submit_as(w, &s);
    manager_fixture_settle(w);
    assert_int_equal(l->c->view.state, NM_NEW);
    return l;
}

static void on_state(const struct nm_event *e, void *userdata)
{
    char *reported = userdata;

    if (e->kind != NM_EVENT_STATE)
        return;
    strcat(reported, " ");
    strcat(reported, nm_state_name(e->to));
}

static void test_a_container_starts_after_its_owner_has_prepared_it(void **state)
{
    _cleanup_(nm_subscription_freep) struct nm_subscription *subscription = NULL;
    struct manager_fixture *w = *state;
    struct nm_status status;
    char reported[200] = "", id[NM_ID_SIZE];
    struct nm_problem p;
    struct nm_live_container *l;

    manager_fixture_start(w);
    assert_int_equal(nm_manager_subscribe(w->m, on_state, reported, &subscription), 0);
    l = prepare(w, NM_GUARANTEED);
    strcpy(id, l->c->id);
    assert_int_equal(nm_manager_progress(w->m, OWNER, id, "1 of 2 files", &p), 0);
    assert_int_equal(nm_manager_progress(w->m, OWNER, id, "2 of 2 files", &p), 0);
    assert_string_equal(l->c->progress, "2 of 2 files");
    nm_round(w->m, NM_TRIGGER_SAMPLE);
    manager_fixture_settle(w);
    assert_int_equal(l->c->view.state, NM_LOCALIZING);
    nm_manager_get_status(w->m, &status);
    assert_int_equal(status.preparing, 1);
    assert_int_equal(status.queued, 0);
    assert_int_equal(status.guaranteed_running, 0);
    assert_int_equal(status.removable_since_realtime_usec, 0); /* the node isn't removable while the container exists */
    assert_int_equal(nm_manager_prepared(w->m, "somebody", id, &p), NM_AGENT_E_NOT_FOUND);
    assert_int_equal(nm_manager_prepared(w->m, OWNER, id, &p), 0);
    assert_string_equal(l->c->progress, "");
    manager_fixture_wait(w, l, is_running);
    assert_int_equal(nm_manager_prepared(w->m, OWNER, id, &p), NM_AGENT_E_CONFLICT);
    assert_int_equal(nm_manager_progress(w->m, OWNER, id, "3 of 2 files", &p), NM_AGENT_E_CONFLICT);
    assert_string_equal(reported, " NEW LOCALIZING SCHEDULED RUNNING");
}

/* The command of the container has not been started, so there is no process to kill. */
static void test_a_container_in_preparation_is_ended_without_a_kill(void **state)
{
    struct nm_submit s = request(NM_OPPORTUNISTIC);
    struct manager_fixture *w = *state;
    const struct nm_container *c;
    struct nm_problem p;

    s.prepare = true;
    c = manager_fixture_submit_as(w, &s)->c;
    assert_int_equal(nm_manager_progress(w->m, OWNER, c->id, "", &p), 0);
    assert_int_equal(nm_manager_prepare_failed(w->m, OWNER, c->id, "no such file", &p), 0);
    manager_fixture_settle(w);
    assert_int_equal(c->view.state, NM_COMPLETED);
    assert_int_equal(c->exit_reason, NM_EXIT_LOCALIZATION_FAILED);
    assert_int_equal(c->exit_cause, NM_REASON_NONE);
    assert_int_equal(c->exit_code, -1);
    assert_string_equal(c->message, "no such file");
    c = prepare(w, NM_GUARANTEED)->c;
    assert_int_equal(nm_manager_kill(w->m, &manager_fixture_admin, c->id, false, &p), 0);
    assert_int_equal(nm_manager_prepared(w->m, OWNER, c->id, &p), NM_AGENT_E_CONFLICT);
    manager_fixture_settle(w);
    assert_int_equal(c->exit_reason, NM_EXIT_KILLED);
    c = prepare(w, NM_OPPORTUNISTIC)->c;
    assert_int_equal(nm_manager_drain(w->m, &manager_fixture_admin, manager_fixture_drain(UINT64_MAX), &p), 0);
    manager_fixture_settle(w);
    assert_int_equal(c->exit_reason, NM_EXIT_DRAINED);
}

/* Prepared containers are also restored from the snapshot alone. A prepared container accepts the same requests as a
 * queued container. */
static void test_a_prepared_container_is_restored_after_a_restart(void **state)
{
    struct nm_submit s = request(NM_GUARANTEED);
    struct manager_fixture *w = *state;
    struct nm_problem p;

    manager_fixture_start(w);
    s.id = YARNS;
    s.blob = blob_of("one");
    s.prepare = true;
    (void)manager_fixture_submit_as(w, &s);
    assert_int_equal(nm_manager_progress(w->m, OWNER, YARNS, "half", &p), 0);
    assert_int_equal(nm_manager_demote(w->m, &manager_fixture_admin, YARNS, &p), 0);
    manager_fixture_settle(w);
    for (int i = 0; i < 2; i++) {
        w->m = nm_manager_free(w->m);
        if (i == 1)
            fake_tree_unlink(&w->tree, "state/nmd.db");
        manager_fixture_restart(w);
        assert_int_equal(known(w, YARNS)->view.state, NM_NEW);
        assert_int_equal(known(w, YARNS)->view.type, NM_OPPORTUNISTIC);
        assert_blob(w, YARNS, "one");
    }
    manager_fixture_start(w);
    assert_int_equal(nm_manager_promote(w->m, &manager_fixture_admin, YARNS, &p), 0);
    assert_int_equal(nm_manager_prepared(w->m, OWNER, YARNS, &p), 0);
    manager_fixture_wait(w, nm_lists_live_of(known(w, YARNS)), is_running);
}

/* ---- limits of the upstream ---------------------------------------------------------------------- */

static void decide(struct manager_fixture *w)
{
    nm_round(w->m, NM_TRIGGER_CHANGE);
    manager_fixture_settle(w);
}

/* On an unhealthy node no container starts. Requests to end a container are carried out. */
static void test_an_unhealthy_node_starts_no_container(void **state)
{
    struct nm_submit s = request(NM_OPPORTUNISTIC), locals = request(NM_OPPORTUNISTIC);
    struct manager_fixture *w = *state;
    const struct nm_container *c[3], *others;
    struct nm_status status;

    nm_health_set_journal(w->m->health, "this test says so");
    locals.owner = "local";
    for (size_t i = 0; i < NM_ARRAY_SIZE(c); i++)
        c[i] = manager_fixture_submit_as(w, &s)->c;
    others = manager_fixture_submit_as(w, &locals)->c;
    nm_manager_set_queue_limit(w->m, OWNER, 1);
    decide(w);
    assert_int_equal(c[0]->view.state, NM_SCHEDULED);
    assert_int_equal(others->view.state, NM_SCHEDULED);
    for (size_t i = 1; i < NM_ARRAY_SIZE(c); i++) {
        assert_int_equal(c[i]->exit_reason, NM_EXIT_SHED);
        assert_int_equal(c[i]->exit_cause, NM_REASON_SHED);
        assert_true(c[i]->exit_decision > 0);
    }
    nm_manager_get_status(w->m, &status);
    assert_int_equal(status.queue_limit, 1);
    assert_int_equal(status.counters.shed, 2);
    c[1] = manager_fixture_submit_as(w, &s)->c; /* the upstream didn't know of this container when it set the limit */
    decide(w);
    assert_int_equal(c[1]->view.state, NM_SCHEDULED);
    nm_manager_set_queue_limit(w->m, OWNER, 1);
    decide(w);
    assert_int_equal(c[1]->exit_reason, NM_EXIT_SHED);
    nm_manager_set_queue_limit(w->m, OWNER, UINT32_MAX);
    c[1] = manager_fixture_submit_as(w, &s)->c;
    decide(w);
    assert_int_equal(c[1]->view.state, NM_SCHEDULED);
}

static void test_a_queue_limit_without_a_queue_causes_no_round(void **state)
{
    struct nm_submit s = request(NM_OPPORTUNISTIC), locals = request(NM_OPPORTUNISTIC);
    struct manager_fixture *w = *state;
    const struct nm_container *c;

    nm_health_set_journal(w->m->health, "this test says so"); /* containers stay in the queue */
    locals.owner = "local";
    (void)manager_fixture_submit_as(w, &locals);
    manager_fixture_settle(w);
    w->m->round.triggers = 0;
    nm_manager_set_queue_limit(w->m, OWNER, 0);
    nm_manager_set_queue_limit(w->m, OWNER, 0);
    assert_int_equal(w->m->round.triggers, 0);
    c = manager_fixture_submit_as(w, &s)->c; /* is not discarded by the limit that was set before */
    decide(w);
    assert_int_equal(c->view.state, NM_SCHEDULED);
    w->m->round.triggers = 0;
    nm_manager_set_queue_limit(w->m, OWNER, 0);
    assert_int_equal(w->m->round.triggers, 1U << NM_TRIGGER_CHANGE);
    decide(w);
    assert_int_equal(c->exit_reason, NM_EXIT_SHED);
}

/* A cluster would send its container again, since the queue has room. */
static void test_half_of_the_queue_is_kept_only_from_local_containers(void **state)
{
    const struct nm_policy_memory surges = {.margin = {.until_usec = nm_now_usec() + 600 * NM_USEC_PER_SEC}};
    struct nm_submit s = request(NM_OPPORTUNISTIC), locals = request(NM_OPPORTUNISTIC);
    struct manager_fixture *w = *state;
    const struct nm_container *c;
    struct nm_problem p;

    nm_health_set_journal(w->m->health, "this test says so");
    locals.owner = "local";
    nm_manager_set_queue_limit(w->m, OWNER, UINT32_MAX);
    (void)manager_fixture_submit_as(w, &locals);
    nm_policy_set_memory(w->m->policy, &surges);
    w->m->settings.queue_max_length = 2;
    locals.memory_bytes = s.memory_bytes = 2 * s.memory_bytes;
    assert_int_equal(manager_fixture_try(w, &locals, &c, &p), NM_AGENT_E_QUEUE_FULL);
    assert_non_null(strstr(p.message, "more CPU per memory"));
    (void)manager_fixture_submit_as(w, &s);
}

static bool is_paused(const struct nm_live_container *l)
{
    return l->c->view.state == NM_PAUSED;
}

/* A queue limit of 0 affects neither containers that start without the queue nor containers that are queued already. */
static void test_a_queue_limit_of_zero_affects_only_queued_containers(void **state)
{
    struct nm_submit s = request(NM_OPPORTUNISTIC);
    struct manager_fixture *w = *state;
    struct nm_live_container *l[2];
    struct nm_problem p;

    manager_fixture_start(w);
    nm_manager_set_queue_limit(w->m, OWNER, 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(l); i++) {
        l[i] = manager_fixture_submit_as(w, &s);
        decide(w);
        manager_fixture_wait(w, l[i], is_running);
    }
    assert_int_equal(nm_manager_pause(w->m, &manager_fixture_admin, l[1]->c->id, &p), 0);
    assert_int_equal(nm_fake_set_events(l[1]->cg, true, true), 0);
    manager_fixture_wait(w, l[1], is_paused);
    nm_manager_set_queue_limit(w->m, OWNER, 0);
    decide(w);
    assert_int_equal(l[1]->c->view.state, NM_PAUSED);
    assert_int_equal(l[0]->c->view.state, NM_RUNNING);
    assert_int_equal(w->m->counters.shed, 0);
}

/* ---- crash of nmd -------------------------------------------------------------------------------- */

static void in_another_nmd(struct manager_fixture *w, void (*story)(struct manager_fixture *w))
{
    manager_fixture_die(w, NULL, story);
    manager_fixture_restart(w);
}

static void submit_and_die(struct manager_fixture *w)
{
    struct nm_submit s = request(NM_OPPORTUNISTIC);

    s.id = YARNS;
    s.blob = blob_of("one");
    s.prepare = s.keep_result = true;
    (void)manager_fixture_submit_as(w, &s);
}

static void begin_and_die(struct manager_fixture *w)
{
    const struct nm_blob other = blob_of("another");
    struct nm_problem p;

    assert_int_equal(nm_manager_progress(w->m, OWNER, YARNS, "half", &p), 0);
    assert_int_equal(nm_manager_set_blob(w->m, OWNER, YARNS, &other, &p), 0);
}

static void prepare_and_die(struct manager_fixture *w)
{
    struct nm_problem p;

    assert_int_equal(nm_manager_prepared(w->m, OWNER, YARNS, &p), 0);
}

static void end_and_die(struct manager_fixture *w)
{
    const struct nm_end e = {.code = -106};
    struct nm_problem p;

    assert_int_equal(nm_manager_end(w->m, OWNER, YARNS, &e, &p), 0);
}

static void acknowledge_and_die(struct manager_fixture *w)
{
    struct nm_problem p;

    assert_int_equal(nm_manager_acknowledge(w->m, OWNER, YARNS, &p), 0);
}

/* A change that nmd has reported to the owner as done is still done after a crash of nmd. */
static void test_a_change_reported_to_the_owner_survives_a_crash_of_nmd(void **state)
{
    struct manager_fixture *w = *state;

    in_another_nmd(w, submit_and_die);
    assert_int_equal(known(w, YARNS)->view.state, NM_NEW);
    assert_blob(w, YARNS, "one");
    in_another_nmd(w, begin_and_die);
    assert_int_equal(known(w, YARNS)->view.state, NM_NEW);
    assert_blob(w, YARNS, "another");
    in_another_nmd(w, prepare_and_die);
    assert_int_equal(known(w, YARNS)->view.state, NM_SCHEDULED);
    in_another_nmd(w, end_and_die);
    manager_fixture_settle(w);
    assert_int_equal(known(w, YARNS)->exit_reason, NM_EXIT_KILLED);
    assert_int_equal(known(w, YARNS)->owner_code, -106);
    assert_true(known(w, YARNS)->keep_result);
    assert_blob(w, YARNS, "another");
    in_another_nmd(w, acknowledge_and_die);
    assert_false(known(w, YARNS)->keep_result);
    assert_blob(w, YARNS, "");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_a_container_ended_by_its_owner_has_the_owners_code),
        TEST(test_a_container_ended_by_a_user_has_the_cause_user),
        TEST(test_a_kill_by_the_policy_is_reported_with_its_figures),
        TEST(test_a_signal_reaches_the_container),
        TEST(test_a_signal_kills_a_queued_container),
        TEST(test_invalid_ids_are_refused),
        TEST(test_an_id_chosen_by_an_owner_survives_a_restart),
        TEST(test_an_id_can_be_used_again_after_a_removal),
        TEST(test_an_id_chosen_by_an_owner_survives_the_loss_of_the_journal),
        TEST(test_a_blob_survives_a_restart_and_the_loss_of_the_journal),
        TEST(test_a_blob_is_removed_with_its_container),
        TEST(test_the_total_size_of_blobs_is_limited),
        TEST(test_a_result_is_kept_until_its_acknowledgement),
        TEST(test_the_number_of_unacknowledged_results_is_limited),
        TEST(test_a_container_starts_after_its_owner_has_prepared_it),
        TEST(test_a_container_in_preparation_is_ended_without_a_kill),
        TEST(test_a_prepared_container_is_restored_after_a_restart),
        TEST(test_an_unhealthy_node_starts_no_container),
        TEST(test_a_queue_limit_without_a_queue_causes_no_round),
        TEST(test_half_of_the_queue_is_kept_only_from_local_containers),
        TEST(test_a_queue_limit_of_zero_affects_only_queued_containers),
        TEST(test_a_change_reported_to_the_owner_survives_a_crash_of_nmd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
