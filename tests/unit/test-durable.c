/* SPDX-License-Identifier: Apache-2.0 */

/*
 * agent/journal/: invalid values in the journal (written by another version, or changed by another program), the limit
 * on the number of applications, and the status of a node with problems.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "agent/journal/containers.h"
#include "agent/journal/decision-record.h"
#include "agent/journal/records.h"
#include "agent/journal/journal.h"
#include "agent/journal/slot-file.h"
#include "agent/node/node-slice.h"
#include "agent/store/store-internal.h"
#include "cgroup/backend-fake.h"
#include "tests/unit/manager-fixture.h"
#include "util/clock.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, manager_fixture_set_up, manager_fixture_tear_down)

static void put(struct manager_fixture *w, const char *key, const char *value)
{
    assert_int_equal(nm_store_put_value(w->m->store, key, value), 0);
}

/* All valid values are loaded, and invalid ones are ignored. */
static void test_invalid_values_in_the_journal_are_ignored(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_policy_memory memory, none = {0};
    char text[80];

    put(w, "counters", "paused 7\nnonsense\nother 9\nkilled x\nadmitted 5\n");
    put(w, "counters-by-reason", "paused memory-over-beta 3\nnonsense\npaused other 4\nother memory-over-beta 5\n");
    put(w, "policy", "1 2 x");
    put(w, "policy-margin", "1 2");
    put(w, "drain", "x");
    put(w, "removable", "x");
    put(w, "app.good", "3 2 5000000 18446744073709551000");
    put(w, "app.short", "3 2");
    put(w, "app.old", "3 2 5000000 1");
    put(w, "app../passwd", "3 2 5000000 18446744073709551000");
    nm_durable_load(w->m); /* so that the restart has no unsaved values to write */
    manager_fixture_restart(w);
    assert_int_equal(w->m->counters.paused, 7);
    assert_int_equal(w->m->counters.admitted, 5);
    assert_int_equal(w->m->counters.killed, 0);
    assert_int_equal(w->m->counters.by_reason[NM_COUNT_PAUSED][NM_REASON_MEMORY_OVER_BETA], 3);
    nm_policy_get_memory(w->m->policy, &memory);
    assert_memory_equal(&memory, &none, sizeof memory);
    assert_false(w->m->drain.is_on);
    assert_int_equal(w->m->apps.n, 1);
    assert_true(nm_store_get_value(w->m->store, "app.short", text, sizeof text) < 0);
    assert_true(nm_store_get_value(w->m->store, "app.old", text, sizeof text) < 0);
    assert_true(nm_store_get_value(w->m->store, "app../passwd", text, sizeof text) < 0);
}

/* Returns the number of the newest event that a restarted nmd would find. */
static uint64_t newest_kept(const struct manager_fixture *w)
{
    static struct nm_event_record ring[NM_EVENT_RING];
    _cleanup_close_ int fd = -EBADF;
    uint64_t next = 0;

    memset(ring, 0, sizeof ring);
    fd = nm_event_file_open(w->m->state_dir, ring, &next);
    assert_true(fd >= 0);
    return next - 1;
}

/* If nmd is killed within a transaction, SQLite discards all changes of the transaction. So nmd must report the events
 * of these changes only after the commit. */
static void test_events_of_an_unfinished_transaction_are_not_reported(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "it", NM_OPPORTUNISTIC, NM_RUNNING);
    uint64_t before = nm_events_newest(w->m->events)->number + 1, number;

    (void)nm_store_begin(w->m->store);
    nm_record_by(l, NM_DECISION_KILL, NM_REASON_USER, NULL);
    nm_events_publish_node(w->m, "something");
    assert_int_equal(nm_events_newest(w->m->events)->number, before + 1);
    assert_true(newest_kept(w) < before);
    nm_record_store_result(w->m, nm_store_commit(w->m->store));
    assert_int_equal(newest_kept(w), before + 1);
    nm_events_publish_node(w->m, "something else");
    assert_int_equal(newest_kept(w), before + 2);

    /* The number of a reported decision is never used again, even if the journal has lost the decision. */
    number = w->m->decisions->next + 100;
    w->m->decisions->next = number;
    nm_record_by(l, NM_DECISION_KILL, NM_REASON_USER, NULL);
    assert_int_equal(nm_store_exec(w->m->store->db, "DELETE FROM decisions"), 0);
    manager_fixture_restart(w);
    assert_true(w->m->decisions->next > number);
}

static void test_an_invalid_surge_margin_in_the_journal_is_ignored(void **state)
{
    static const char *const margins[] = {"1 2", "1 2 x", ""};
    struct manager_fixture *w = *state;
    struct nm_policy_memory memory;

    for (size_t i = 0; i < NM_ARRAY_SIZE(margins); i++) {
        put(w, "policy", "123 456 789");
        put(w, "policy-margin", margins[i]);
        manager_fixture_restart(w);
        nm_policy_get_memory(w->m->policy, &memory);
        assert_int_equal(memory.breaker_until_usec, 123);
        assert_int_equal(memory.margin.until_usec + memory.margin.hold_usec, 0);
    }
}

/* An earlier nmd has stored no times between surges. A list that is too short is ignored as a whole. */
static void test_times_between_surges_are_loaded(void **state)
{
    static const struct {
        const char *text;
        uint32_t first, last;
    } cases[] = {{NULL, 0, 0},
                 {"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 99999999999", 1, UINT32_MAX},
                 {"1 2 3 4 5 6 7", 0, 0},
                 {"", 0, 0}};
    struct manager_fixture *w = *state;
    struct nm_policy_memory memory;

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        put(w, "policy", "123 456 789");
        put(w, "policy-margin", "4 5 6");
        if (cases[i].text)
            put(w, "policy-surge-gaps", cases[i].text);
        manager_fixture_restart(w);
        nm_policy_get_memory(w->m->policy, &memory);
        assert_int_equal(memory.margin.peak_permille, 6);
        assert_int_equal(memory.margin.gap_sec[0], cases[i].first);
        assert_int_equal(memory.margin.gap_sec[NM_SURGE_GAPS - 1], cases[i].last);
    }
}

struct values {
    unsigned n;
    struct {
        char key[NM_STORE_KEY_SIZE], value[1024];
    } all[32];
};

static void take_value(const char *key, const char *value, void *userdata)
{
    struct values *v = userdata;

    if (strncmp(key, "store.", strlen("store.")) == 0)
        return;
    assert_true(v->n < NM_ARRAY_SIZE(v->all));
    (void)snprintf(v->all[v->n].key, sizeof v->all[v->n].key, "%s", key);
    /* the value of an application ends with the time at which it was saved */
    (void)snprintf(v->all[v->n].value, sizeof v->all[v->n].value, "%s", strncmp(key, "app.", 4) == 0 ? "" : value);
    v->n++;
}

/* All rows of the damaged journal are lost. The new journal has each value that nmd has stored before, with the same
 * content. */
static void test_a_journal_that_replaces_a_damaged_one_has_all_values(void **state)
{
    static struct values before, after;
    struct manager_fixture *w = *state;
    const struct nm_policy_memory memory = {
        .breaker_until_usec = 4, .margin = {.until_usec = 5, .gap_sec = {9, 8, 7}}, .kills_usec = {6}};
    uint32_t app = nm_lists_app(w->m, "first");

    before.n = after.n = 0;
    nm_record_count(w->m, NM_COUNT_KILLED, NM_REASON_MEMORY_OVER_BETA);
    nm_policy_set_memory(w->m->policy, &memory);
    w->m->removable_since_usec = 7;
    w->m->apps.views[app].completed = 8;
    w->m->drain.is_on = true;
    nm_durable_save(w->m);
    nm_durable_save_app(w->m, app);
    nm_durable_save_drain(w->m);
    assert_int_equal(nm_store_load_values(w->m->store, "", take_value, &before), 0);
    assert_int_equal(before.n, 8);
    assert_int_equal(nm_store_exec(w->m->store->db, "DELETE FROM key_values"), 0);
    nm_journal_replace(w->m);
    assert_int_equal(nm_store_load_values(w->m->store, "", take_value, &after), 0);
    assert_int_equal(after.n, before.n);
    for (unsigned i = 0; i < before.n; i++) {
        assert_string_equal(after.all[i].key, before.all[i].key);
        assert_string_equal(after.all[i].value, before.all[i].value);
    }
}

/* The list of applications is full, and all of them have a live container. Further applications share the entry of
 * containers without an application. */
static void test_too_many_applications_share_an_entry(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "it", NM_OPPORTUNISTIC, NM_RUNNING);
    uint32_t first = nm_lists_app(w->m, "first"), other;
    char name[32];

    l->c->view.app = first;
    for (unsigned i = 0; w->m->apps.n < NM_APPS_MAX; i++) {
        (void)snprintf(name, sizeof name, "app%u", i);
        other = nm_lists_app(w->m, name);
        assert_int_equal(other, w->m->apps.n - 1);
    }
    w->m->apps.all[7].seen_usec = 1; /* the application that was used longest ago */
    other = nm_lists_app(w->m, "other");
    assert_int_equal(other, 7);
    assert_string_equal(w->m->apps.all[7].name, "other");
    assert_int_equal(nm_lists_app(w->m, "first"), first); /* the entry was not reused, because the application has a
                                                             live container */
}

/* ---- status ------------------------------------------------------------------------------------ */

static bool has_note(const struct nm_status *s, const char *substring)
{
    for (unsigned i = 0; i < s->n_notes; i++)
        if (strstr(s->notes[i], substring))
            return true;
    return false;
}

static void test_notes_of_the_status_name_leftover_memory_and_missing_features(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_status s;

    w->m->sampled.slice_unowned_bytes = 64 * MIB;
    nm_fake_set_feature(w->m->backend, NM_CGROUP_CPU_WEIGHT, "there is no cpu controller");
    nm_manager_get_status(w->m, &s);
    assert_true(has_note(&s, "in nmtest.slice belong to no container"));
    assert_true(has_note(&s, "cpu weight: there is no cpu controller"));
    assert_true(has_note(&s, "SCHED_IDLE"));
    w->m->sampled.slice_unowned_bytes = 0;
    nm_manager_get_status(w->m, &s);
    assert_false(has_note(&s, "belong to no container"));
}

static void test_an_unknown_container_or_stream_has_no_log(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "it", NM_OPPORTUNISTIC, NM_RUNNING);
    struct nm_output_piece piece = {0};
    struct nm_problem p;
    char name[160];
    int fd;

    assert_int_equal(nm_manager_open_log(w->m, &manager_fixture_admin, "container_1_9", "stdout", 0, &piece, &p),
                     NM_AGENT_E_NOT_FOUND);
    assert_int_equal(nm_manager_open_log(w->m, &manager_fixture_admin, l->c->id, "stdin", 0, &piece, &p),
                     NM_AGENT_E_INVALID);
    assert_int_equal(nm_manager_open_log(w->m, &manager_fixture_admin, l->c->id, "stdout", 0, &piece, &p), -ENOENT);
    (void)snprintf(name, sizeof name, "state/logs/%s", l->c->id);
    fake_tree_write(&w->tree, name, "no directory");
    assert_int_equal(nm_manager_open_log(w->m, &manager_fixture_admin, l->c->id, "stdout", 0, &piece, &p),
                     NM_AGENT_E_CONFLICT);
    assert_non_null(strstr(p.message, "no longer the plain file that nmd made"));
    assert_int_equal(nm_container_set_log_dir(l->c, w->tree.path), 0);
    assert_int_equal(nm_manager_open_log_times(w->m, &manager_fixture_admin, l->c->id, "stdout", &fd, &p),
                     NM_AGENT_E_CONFLICT);
    assert_int_equal(nm_manager_open_log_times(w->m, &manager_fixture_admin, "container_1_9", "stdout", &fd, &p),
                     NM_AGENT_E_NOT_FOUND);
    free(w->m->log_dir);
    w->m->log_dir = strdup("/nowhere");
    assert_int_equal(nm_container_set_log_dir(l->c, ""), 0);
    assert_int_equal(nm_manager_open_log(w->m, &manager_fixture_admin, l->c->id, "stdout", 0, &piece, &p), -ENOENT);
    assert_int_equal(nm_manager_open_log_times(w->m, &manager_fixture_admin, l->c->id, "stdout", &fd, &p), -ENOENT);
}

/* ---- the slice --------------------------------------------------------------------------------- */

/* If memory.low exceeds nmd's value, an administrator has set this value, and nmd keeps it. If memory.low is lower, nmd
 * sets its own value again. */
static void test_an_administrators_higher_memory_protection_is_kept(void **state)
{
    struct manager_fixture *w = *state;
    uint64_t is;

    (void)manager_fixture_add(w, "it", NM_GUARANTEED, NM_RUNNING);
    nm_slice_set(w->m);
    manager_fixture_settle(w);
    assert_true(nm_write_file_at(w->m->backend->slice_fd, "memory.low", "536870912") >= 0);
    nm_slice_check_drift(w->m);
    manager_fixture_settle(w);
    assert_int_equal(nm_cgroup_slice_read_low(w->m->backend, &is), 0);
    assert_int_equal(is, 512 * MIB);
    assert_true(nm_write_file_at(w->m->backend->slice_fd, "memory.max", "536870912") >= 0);
    nm_slice_check_drift(w->m);
    nm_slice_check_drift(w->m); /* no check while the limits are being set */
    manager_fixture_settle(w);
    assert_int_equal(nm_cgroup_slice_read_max(w->m->backend, &is), 0);
    assert_int_equal(is, w->m->settings.capacity.memory_bytes);
    assert_int_equal(w->m->counters.drift_repairs, 1);
}

static void test_the_owner_of_memory_low_is_not_saved_if_the_slice_can_not_be_set(void **state)
{
    struct manager_fixture *w = *state;

    assert_int_equal(remove_tree(w->run), 0); /* the file for the owner of memory.low can't be saved either */
    nm_fake_fail_next(w->m->backend, NM_FAKE_SET_SLICE_LIMITS, -EIO);
    (void)manager_fixture_add(w, "it", NM_GUARANTEED, NM_RUNNING);
    nm_slice_set(w->m);
    nm_slice_set(w->m); /* requests another setting after the first */
    manager_fixture_settle(w);
    assert_false(w->m->slice->is_busy || w->m->slice->again);
    assert_true(w->m->slice->note.unsaved);
    fake_tree_write(&w->tree, "run/.keep", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_events_of_an_unfinished_transaction_are_not_reported),
        TEST(test_invalid_values_in_the_journal_are_ignored),
        TEST(test_an_invalid_surge_margin_in_the_journal_is_ignored),
        TEST(test_times_between_surges_are_loaded),
        TEST(test_a_journal_that_replaces_a_damaged_one_has_all_values),
        TEST(test_too_many_applications_share_an_entry),
        TEST(test_notes_of_the_status_name_leftover_memory_and_missing_features),
        TEST(test_an_unknown_container_or_stream_has_no_log),
        TEST(test_an_administrators_higher_memory_protection_is_kept),
        TEST(test_the_owner_of_memory_low_is_not_saved_if_the_slice_can_not_be_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
