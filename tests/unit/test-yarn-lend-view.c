/* SPDX-License-Identifier: Apache-2.0 */

/* What an operator sees of lending: JSON, metrics and sentences, made from the real books. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/described.h"
#include "util/clock.h"
#include "yarn/proxy/lend-view.h"

#define SEC NM_USEC_PER_SEC
#define BEGIN (1000 * SEC)

static const struct nm_yarn_attempt_id attempt = {{1410901177871, 1}, 1};
static const struct nm_lend_limits no_limits = {-1, -1, -1, -1, false, NULL, NULL};
static const struct nm_lend_limits observing = {-1, -1, -1, -1, true, NULL, NULL};

/* ---- a master ------------------------------------------------------------------------------ */

struct world {
    struct nm_lend *books;
    struct nm_yarn_lend_view v;
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    const struct nm_lend_rule rule = {.mode = NM_LEND_OVERFLOW, .after_usec = 30 * SEC};

    assert_non_null(w);
    assert_int_equal(nm_lend_new(&w->books), 0);
    nm_lend_set_rule(w->books, &rule);
    w->v = (struct nm_yarn_lend_view){.books = w->books, .choice = {.rule = rule, .source = NM_YARN_LENDING_CLUSTER},
                                      .queue = "root.batch", .type = "SPARK", .now_usec = BEGIN};
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    nm_lend_free(w->books);
    free(w);
    return 0;
}

static struct nm_lend_ask make_ask(int32_t priority, int32_t count)
{
    return (struct nm_lend_ask){.key = {priority, 0}, .size = {1024, 1}, .count = count, .any = true, .relax = true};
}

static void ask(struct world *w, int32_t priority, int32_t count, uint64_t now_usec)
{
    const struct nm_lend_ask a = make_ask(priority, count);

    assert_int_equal(nm_lend_ask(w->books, &a, 1, now_usec), 0);
}

static void plan(struct world *w, const struct nm_lend_limits *limits, uint64_t now_usec)
{
    const struct nm_lend_change *changes;
    size_t n;

    assert_int_equal(nm_lend_plan(w->books, limits, now_usec, &changes, &n), 0);
    w->v.now_usec = now_usec;
}

/* Grants an opportunistic container in an answer of its own. */
static struct nm_yarn_container_id grant(struct world *w, int32_t response_id, uint64_t now_usec)
{
    const struct nm_lend_grant g = {.id = {attempt, 2 + response_id}, .key = {20, 0}, .size = {1024, 1}, .host = "n7",
                                    .port = 45454, .opportunistic = true};
    enum nm_lend_verdict verdict;

    assert_false(nm_lend_begin_answer(w->books, response_id));
    assert_int_equal(nm_lend_granted(w->books, &g, now_usec, &verdict), 0);
    assert_int_equal(verdict, NM_LEND_SHOW);
    w->v.now_usec = now_usec;
    return g.id;
}

/* Lends one container 31 s after the master has asked for three. */
static struct nm_yarn_container_id lend_one(struct world *w)
{
    ask(w, 20, 3, BEGIN);
    plan(w, &no_limits, BEGIN);
    plan(w, &no_limits, BEGIN + 31 * SEC);
    return grant(w, 1, BEGIN + 31 * SEC);
}

static json_int_t number(const json_t *o, const char *name)
{
    const json_t *v = json_object_get(o, name);

    if (!json_is_integer(v))
        fail_msg("%s is no integer", name);
    return json_integer_value(v);
}

static const char *string(const json_t *o, const char *name)
{
    return json_string_value(json_object_get(o, name)) ?: "no string";
}

static void expect_part(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' lacks '%s'", text, part);
}

static void expect_master(const struct nm_yarn_lend_view *v, const char *part)
{
    json_t *j = nm_yarn_lend_view_explain_master(v, "container_1_0001_01_000001", "appattempt_1_0001_000001", true);

    assert_described("Lending", j);
    expect_part(string(j, "explanation"), part);
    assert_true(json_is_null(json_object_get(j, "container")));
    json_decref(j);
}

/* ---- an attempt ----------------------------------------------------------------------------- */

static void test_an_attempt_is_reported_as_json(void **state)
{
    struct world *w = *state;
    const json_t *key;
    json_t *j;

    (void)lend_one(w);
    ask(w, 10, 5, BEGIN + 32 * SEC);
    plan(w, &no_limits, BEGIN + 33 * SEC);
    j = nm_yarn_lend_view_to_json(&w->v, true, 8);
    assert_described("LendingApplication", j);
    assert_string_equal(string(j, "rule"), "overflow:30");
    assert_string_equal(string(j, "source"), "cluster");
    assert_string_equal(string(j, "queue"), "root.batch");
    assert_string_equal(string(j, "application_type"), "SPARK");
    assert_int_equal(number(j, "lent"), 1);
    assert_int_equal(number(j, "lent_memory_bytes"), 1024 * (json_int_t)NM_MIB);
    assert_int_equal(number(j, "wanted"), 7);
    assert_int_equal(number(j, "granted"), 1);
    assert_int_equal(number(j, "keys_total"), 2);
    key = json_array_get(json_object_get(j, "keys"), 0);
    assert_int_equal(number(key, "priority"), 10);
    assert_int_equal(number(key, "wanted"), 5);
    assert_int_equal(number(key, "asked"), 0);
    assert_string_equal(string(key, "reason"), "waits");
    key = json_array_get(json_object_get(j, "keys"), 1);
    assert_int_equal(number(key, "priority"), 20);
    assert_int_equal(number(key, "lent"), 1);
    json_decref(j);
}

/* Times in JSON are times of day, whatever clock the books have. */
static void test_times_are_converted_to_times_of_day(void **state)
{
    struct world *w = *state;
    const json_int_t now = (json_int_t)nm_realtime_usec();
    json_int_t since;
    json_t *j;

    (void)lend_one(w);
    w->v.now_usec = BEGIN + 100 * SEC;
    j = nm_yarn_lend_view_to_json(&w->v, true, 8);
    since = number(j, "oldest_since_usec");
    assert_true(since >= now - 69 * (json_int_t)SEC && since <= now - 68 * (json_int_t)SEC);
    since = number(json_array_get(json_object_get(j, "keys"), 0), "since_usec");
    assert_true(since >= now - 100 * (json_int_t)SEC && since <= now - 99 * (json_int_t)SEC);
    json_decref(j);
}

static void test_the_number_of_keys_is_limited(void **state)
{
    struct world *w = *state;
    json_t *j;

    for (int32_t p = 0; p < 20; p++)
        ask(w, p, 1, BEGIN);
    ask(w, 30, 0, BEGIN); /* an ask without containers isn't shown */
    j = nm_yarn_lend_view_to_json(&w->v, true, 8);
    assert_described("LendingApplication", j);
    assert_int_equal(number(j, "keys_total"), 20);
    assert_int_equal(json_array_size(json_object_get(j, "keys")), 8);
    json_decref(j);
}

/* Names of queues often are names of users. Texts of the ResourceManager may not be UTF-8. */
static void test_names_are_left_out_or_cut(void **state)
{
    struct world *w = *state;
    json_t *j = nm_yarn_lend_view_to_json(&w->v, false, 8);

    assert_true(json_is_null(json_object_get(j, "queue")));
    assert_described("LendingApplication", j);
    json_decref(j);
    w->v.queue = "ab\xff" "cd";
    w->v.type = NULL;
    j = nm_yarn_lend_view_to_json(&w->v, true, 8);
    assert_described("LendingApplication", j);
    assert_string_equal(string(j, "queue"), "ab");
    assert_true(json_is_null(json_object_get(j, "application_type")));
    json_decref(j);
}

static void test_a_master_that_registered_before_is_described(void **state)
{
    struct world *w = *state;
    json_t *j;

    nm_lend_begin_late(w->books);
    ask(w, 20, 3, BEGIN);
    plan(w, &no_limits, BEGIN + 60 * SEC);
    j = nm_yarn_lend_view_to_json(&w->v, true, 8);
    assert_described("LendingApplication", j);
    assert_true(json_is_true(json_object_get(j, "registered_before")));
    assert_string_equal(string(json_array_get(json_object_get(j, "keys"), 0), "reason"), "registered_before");
    json_decref(j);
    j = nm_yarn_lend_view_explain_master(&w->v, "container_1_0001_01_000001", "appattempt_1_0001_000001", true);
    assert_non_null(strstr(string(j, "explanation"), "\nNothing is lent to it until its master registers again, "));
    json_decref(j);
}

static void test_each_source_is_described(void **state)
{
    struct world *w = *state;

    for (int s = NM_YARN_LENDING_CLUSTER; s <= NM_YARN_LENDING_APPLICATION; s++) {
        json_t *j;

        w->v.choice.source = (enum nm_yarn_lending_source)s;
        w->v.choice.wish_invalid = s == NM_YARN_LENDING_APPLICATION;
        j = nm_yarn_lend_view_to_json(&w->v, true, 8);
        assert_described("LendingApplication", j);
        json_decref(j);
        j = nm_yarn_lend_view_explain_master(&w->v, "container_1_0001_01_000001", "appattempt_1_0001_000001", true);
        assert_described("Lending", j);
        json_decref(j);
    }
}

/* ---- totals --------------------------------------------------------------------------------- */

static void test_totals_count_since_the_start_of_nmd(void **state)
{
    struct world *w = *state;
    struct nm_yarn_lend_base base = {};
    struct nm_yarn_lend_totals t = {.exists = true};
    const struct nm_yarn_container_id first = lend_one(w);

    nm_yarn_lend_view_restored(&base, &w->v); /* as if nmd had been restarted now */
    assert_true(nm_lend_ended(w->books, &first, true, BEGIN + 40 * SEC));
    nm_yarn_lend_view_fill(&base, &t);
    nm_yarn_lend_view_sum(&w->v, &t);
    assert_int_equal(t.figures.granted, 0);
    assert_int_equal(t.figures.preempted, 1);
    assert_int_equal(t.figures.lent, 0);
    nm_yarn_lend_view_ended(&base, &w->v); /* the attempt ends, and its figures stay */
    t = (struct nm_yarn_lend_totals){.exists = true};
    nm_yarn_lend_view_fill(&base, &t);
    assert_int_equal(t.figures.granted, 0);
    assert_int_equal(t.figures.preempted, 1);
}

/* Containers that are still lent when the books end are counted, although their ends aren't seen. */
static void test_totals_balance_after_the_end_of_an_attempt(void **state)
{
    struct world *w = *state;
    struct nm_yarn_lend_base base = {};
    struct nm_yarn_lend_totals t = {};
    json_t *j;

    (void)lend_one(w);
    nm_yarn_lend_view_ended(&base, &w->v);
    nm_yarn_lend_view_fill(&base, &t);
    assert_int_equal(t.figures.granted, 1);
    assert_int_equal(t.figures.lent, 0);
    assert_int_equal(t.figures.promoted + t.figures.preempted + t.figures.ended, 0);
    assert_int_equal(t.attempt_ended, 1);
    j = nm_yarn_lend_view_totals_to_json(&t, NULL);
    assert_described("LendingTotals", j);
    assert_int_equal(number(j, "attempt_ended"), 1);
    json_decref(j);
}

/* A container outlives two attempts, of which the second one has taken it over. Then it is preempted. */
static void test_a_container_that_outlives_its_attempt_is_counted_once(void **state)
{
    struct world *w = *state;
    struct nm_yarn_lend_base base = {};
    struct nm_yarn_lend_totals t = {};
    const struct nm_lend_grant g = {.id = lend_one(w), .key = {20, 0}, .size = {1024, 1}, .opportunistic = true};
    json_t *j;

    for (unsigned i = 0; i < 2; i++) {
        nm_yarn_lend_view_ended(&base, &w->v);
        nm_lend_free(w->books);
        assert_int_equal(nm_lend_new(&w->books), 0);
        w->v.books = w->books;
        assert_int_equal(nm_lend_adopt(w->books, &g, BEGIN + 50 * SEC), 0);
    }
    assert_true(nm_lend_ended(w->books, &g.id, true, BEGIN + 60 * SEC));
    nm_yarn_lend_view_fill(&base, &t);
    nm_yarn_lend_view_sum(&w->v, &t);
    assert_int_equal(t.figures.granted, 1);
    assert_int_equal(t.figures.adopted, 2);
    assert_int_equal(t.figures.preempted, 1);
    assert_int_equal(t.figures.ended, 0);
    assert_int_equal(t.attempt_ended, 2);
    j = nm_yarn_lend_view_to_json(&w->v, true, 8);
    assert_described("LendingApplication", j);
    assert_int_equal(number(j, "granted"), 0);
    assert_int_equal(number(j, "adopted"), 1);
    json_decref(j);
    expect_master(&w->v, "Until now: 0 lent and 1 taken over from earlier attempts, of which 0 were promoted, 1 "
                         "preempted, and 0 ended otherwise.\n");
}

static void test_a_state_that_cannot_be_saved_is_shown(void **state)
{
    struct world *w = *state;
    json_t *j;

    for (int i = 0; i < 2; i++) {
        w->v.unsaved = i > 0;
        j = nm_yarn_lend_view_to_json(&w->v, true, 8);
        assert_described("LendingApplication", j);
        assert_int_equal(json_is_true(json_object_get(j, "unsaved")), i);
        json_decref(j);
    }
    expect_master(&w->v, "Nothing more is lent to it until nmd can save what it has lent (see nmd's log).\n");
}

static void test_totals_are_reported_by_reason_and_queue(void **state)
{
    struct world *w = *state;
    struct nm_yarn_lend_totals t = {.exists = true};
    const json_t *q;
    json_t *j, *pipelines;

    (void)lend_one(w);
    ask(w, 10, 5, BEGIN + 32 * SEC);
    plan(w, &no_limits, BEGIN + 41 * SEC);
    nm_yarn_lend_view_sum(&w->v, &t);
    nm_yarn_lend_view_sum(&w->v, &t);
    assert_int_equal(t.oldest_usec, 10 * SEC);
    assert_int_equal(t.held[NM_LEND_WAITS], 10);
    pipelines = json_pack("[{s:o}, {s:o}, {s:n}]", "lending", nm_yarn_lend_view_to_json(&w->v, true, 8), "lending",
                          nm_yarn_lend_view_to_json(&w->v, true, 8), "lending");
    j = nm_yarn_lend_view_totals_to_json(&t, pipelines);
    assert_described("LendingTotals", j);
    assert_int_equal(number(j, "lent"), 2);
    assert_int_equal(number(json_object_get(j, "held"), "waits"), 10);
    assert_int_equal(json_array_size(json_object_get(j, "queues")), 1);
    q = json_array_get(json_object_get(j, "queues"), 0);
    assert_string_equal(string(q, "queue"), "root.batch");
    assert_int_equal(number(q, "applications"), 2);
    assert_int_equal(number(q, "wanted"), 14);
    json_decref(j);
    json_decref(pipelines);
    pipelines = json_pack("[{s:o}]", "lending", nm_yarn_lend_view_to_json(&w->v, false, 8));
    j = nm_yarn_lend_view_totals_to_json(&t, pipelines); /* over TCP */
    assert_described("LendingTotals", j);
    assert_int_equal(json_array_size(json_object_get(j, "queues")), 0);
    json_decref(j);
    json_decref(pipelines);
}

static void test_observed_containers_are_reported(void **state)
{
    struct world *w = *state;
    struct nm_yarn_lend_totals t = {.exists = true, .observes = true};
    json_t *j;

    ask(w, 20, 3, BEGIN);
    plan(w, &observing, BEGIN);
    plan(w, &observing, BEGIN + 31 * SEC);
    plan(w, &observing, BEGIN + 41 * SEC);
    nm_yarn_lend_view_sum(&w->v, &t);
    j = nm_yarn_lend_view_totals_to_json(&t, NULL);
    assert_described("LendingTotals", j);
    assert_int_equal(number(j, "lent"), 0);
    assert_int_equal(number(j, "observed"), 3);
    assert_int_equal(number(j, "observed_memory_bytes"), 3 * 1024 * (json_int_t)NM_MIB);
    assert_true(number(j, "observed_memory_byte_seconds") >= 3 * 1024 * 10 * (json_int_t)NM_MIB);
    json_decref(j);
}

/* ---- metrics -------------------------------------------------------------------------------- */

static void write_family(void *to, const char *name, enum nm_metric_type type, const char *help)
{
    fprintf(to, "%s %s\n", type == NM_METRIC_COUNTER ? "counter" : "gauge", name);
    assert_true(*help && help[strlen(help) - 1] == '.');
}

static void write_sample(void *to, const char *name, const struct nm_metric_label *label, double value)
{
    fprintf(to, "%s%s%s %.0f\n", name, label ? " " : "", label ? label->value : "", value);
}

static void test_metrics_have_all_figures(void **state)
{
    struct world *w = *state;
    struct nm_yarn_lend_totals t = {.exists = true, .attempt_ended = 4};
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    const struct nm_metric_writer writer = {write_family, write_sample, NULL, f};

    (void)lend_one(w);
    ask(w, 10, 5, BEGIN + 32 * SEC);
    plan(w, &no_limits, BEGIN + 41 * SEC);
    nm_yarn_lend_view_sum(&w->v, &t);
    nm_yarn_lend_view_write_metrics(&t, &writer);
    (void)fclose(f);
    expect_part(text, "gauge nm_lending_lent_containers\nnm_lending_lent_containers 1\n");
    expect_part(text, "nm_lending_lent_memory_bytes 1073741824\n");
    expect_part(text, "nm_lending_oldest_seconds 10\n");
    expect_part(text, "nm_lending_held_containers waits 5\n");
    expect_part(text, "nm_lending_held_containers refused 0\n");
    expect_part(text, "counter nm_lending_containers_total\nnm_lending_containers_total granted 1\n");
    expect_part(text, "nm_lending_containers_total adopted 0\n");
    expect_part(text, "nm_lending_containers_total lent_again 0\n");
    expect_part(text, "nm_lending_containers_total preempted 0\n");
    expect_part(text, "nm_lending_containers_total attempt_ended 4\n");
    expect_part(text, "counter nm_lending_observed_containers_total\n");
    free(text);
}

/* ---- sentences ------------------------------------------------------------------------------ */

/* Expects this summary, and a part of the explanation. */
static void expect_history(const struct nm_yarn_lend_view *v, const struct nm_lend_history *h, const char *summary,
                           const char *part)
{
    json_t *j = nm_yarn_lend_view_explain_container(v, h, "container_1_0001_01_000002", "appattempt_1_0001_000001",
                                                    true);

    assert_described("Lending", j);
    assert_string_equal(string(j, "summary"), summary);
    expect_part(string(j, "explanation"), part);
    assert_true(json_is_null(json_object_get(j, "application")));
    json_decref(j);
}

static void test_the_history_of_a_container_is_explained(void **state)
{
    struct world *w = *state;
    struct nm_lend_history h = {.id = {attempt, 2}, .key = {20, 0}, .size = {1024, 1}, .mode = NM_LEND_OVERFLOW,
                                .asked_usec = BEGIN, .lent_usec = BEGIN + 31 * SEC};

    w->v.now_usec = BEGIN + 200 * SEC;
    expect_history(&w->v, &h, "asked for as guaranteed; lent after 31s without a grant; its node hasn't reported yet "
                   "whether it runs", "without a grant; its node hasn't reported yet whether it runs.\n");
    h.queued = true;
    expect_history(&w->v, &h, "asked for as guaranteed; lent after 31s without a grant; waits in the queue of its node",
                   "Asked for as guaranteed; lent after 31s without a grant; waits in the queue of its node.\n"
                   "The container has 1024 MiB and 1 vcore at priority 20. It was lent by the mode overflow.\n"
                   "It has been lent for 2m49s. It is promoted when its queue and its node have guaranteed room");
    h.queued = false;
    h.running = true;
    expect_history(&w->v, &h, "asked for as guaranteed; lent after 31s without a grant; runs as opportunistic",
                   "without a grant; runs as opportunistic.\n");
    h.promoted_usec = BEGIN + 115 * SEC;
    expect_history(&w->v, &h, "asked for as guaranteed; lent after 31s without a grant; promoted 1m24s later",
                   "promoted 1m24s later.\nThe container has 1024 MiB and 1 vcore at priority 20. It was lent by the "
                   "mode overflow.\nIt is a guaranteed container now.\n");
    h.ended_usec = BEGIN + 131 * SEC;
    expect_history(&w->v, &h, "asked for as guaranteed; lent after 31s without a grant; promoted 1m24s later; ended "
                   "1m40s after it was lent", "ended 1m40s after it was lent.\nThe container has 1024 MiB");
    h.promoted_usec = 0;
    h.preempted = true;
    expect_history(&w->v, &h, "asked for as guaranteed; lent after 31s without a grant; preempted 1m40s after it was "
                   "lent", "Its node took resources back. The application was told that it was preempted");
    h.mode = NM_LEND_OFF; /* not known */
    expect_history(&w->v, &h, "asked for as guaranteed; lent after 31s without a grant; preempted 1m40s after it was "
                   "lent", "at priority 20.\nIts node took");
    h.asked_usec = 0;
    expect_history(&w->v, &h, "asked for as guaranteed; lent to an earlier attempt of the application; preempted 1m40s "
                   "after it was lent", "at priority 20.\nIts node took");
    h.preempted = false;
    h.with_attempt = true;
    expect_history(&w->v, &h, "asked for as guaranteed; lent to an earlier attempt of the application; the "
                   "application's attempt ended 1m40s after it was lent", "ended 1m40s after it was lent.\n");
}

static void test_a_demotion_by_the_master_is_explained(void **state)
{
    struct world *w = *state;
    struct nm_lend_history h = {.id = {attempt, 2}, .key = {20, 0}, .size = {1024, 1}, .mode = NM_LEND_OVERFLOW,
                                .asked_usec = BEGIN, .lent_usec = BEGIN + 31 * SEC, .running = true,
                                .demoted_usec = BEGIN + 131 * SEC};
    json_t *j;

    expect_history(&w->v, &h, "asked for as guaranteed; lent after 31s without a grant; its master has demoted it "
                   "1m40s later; runs as opportunistic", "It is what its master has asked for since then: nmd does not "
                   "promote it");
    h.running = false;
    h.promoted_usec = BEGIN + 115 * SEC;
    j = nm_yarn_lend_view_explain_container(&w->v, &h, "c", "a", false);
    assert_string_equal(string(json_object_get(j, "container"), "state"), "demoted");
    json_decref(j);
    expect_history(&w->v, &h, "asked for as guaranteed; lent after 31s without a grant; promoted 1m24s later; its "
                   "master has demoted it 1m40s later", "has demoted it 1m40s later.\nThe container has");
    h.promoted_usec = BEGIN + 141 * SEC;
    expect_history(&w->v, &h, "asked for as guaranteed; lent after 31s without a grant; its master has demoted it "
                   "1m40s later and promoted it 1m50s later", "asked for since then");
    j = nm_yarn_lend_view_explain_container(&w->v, &h, "c", "a", false);
    assert_string_equal(string(json_object_get(j, "container"), "state"), "promoted");
    json_decref(j);
}

static void test_the_story_of_an_adopted_container_is_told(void **state)
{
    struct world *w = *state;
    struct nm_lend_history h = {.id = {attempt, 2}, .key = {20, 0}, .size = {1024, 1}, .mode = NM_LEND_OVERFLOW,
                                .asked_usec = BEGIN, .lent_usec = BEGIN + 31 * SEC, .adopted_usec = BEGIN + 91 * SEC,
                                .adoptions = 1, .preempted = true, .ended_usec = BEGIN + 131 * SEC};
    json_t *j;

    expect_history(&w->v, &h, "asked for as guaranteed; lent after 31s without a grant; taken over by a later attempt "
                   "1m00s later; preempted 1m40s after it was lent", "It was lent by the mode overflow.\n");
    h.adoptions = 2;
    expect_history(&w->v, &h, "asked for as guaranteed; lent after 31s without a grant; taken over by 2 later "
                   "attempts, the last time 1m00s later; preempted 1m40s after it was lent", "attempt");
    j = nm_yarn_lend_view_explain_container(&w->v, &h, "container_1_0001_01_000002", "appattempt_1_0001_000003", false);
    assert_described("Lending", j);
    expect_part(string(j, "explanation"),
                "It was lent to appattempt_1410901177871_0001_000001 and taken over by appattempt_1_0001_000003.\n");
    json_decref(j);
}

/* Names are shown on this machine only, and names of any length leave the text valid. */
static void test_the_application_of_a_container_is_named(void **state)
{
    struct world *w = *state;
    const struct nm_lend_history h = {.id = {attempt, 2}, .key = {20, 0}, .size = {1024, 1}, .lent_usec = BEGIN};
    char name[2 * 300 + 1] = "";
    json_t *j;

    w->v.user = "ada";
    expect_history(&w->v, &h, "asked for as guaranteed; lent to an earlier attempt of the application; its node hasn't "
                   "reported yet whether it runs",
                   "It was lent to appattempt_1_0001_000001 of the user ada in the queue root.batch.\n");
    j = nm_yarn_lend_view_explain_container(&w->v, &h, "container_1_0001_01_000002", "appattempt_1_0001_000001", false);
    expect_part(string(j, "explanation"), "It was lent to appattempt_1_0001_000001.\n");
    json_decref(j);
    for (size_t i = 0; i < 300; i++)
        memcpy(name + 2 * i, "\xc3\xa9", 2); /* a limit in bytes would cut a letter */
    w->v.user = w->v.queue = name;
    j = nm_yarn_lend_view_explain_container(&w->v, &h, "container_1_0001_01_000002", "appattempt_1_0001_000001", true);
    assert_described("Lending", j);
    assert_int_equal(string(j, "explanation")[strlen(string(j, "explanation")) - 1], '\n');
    json_decref(j);
}

static void count_history(const struct nm_lend_history *h, void *userdata)
{
    assert_true(h->lent_usec > 0);
    ++*(unsigned *)userdata;
}

static void test_each_history_of_the_books_is_found(void **state)
{
    struct world *w = *state;
    const struct nm_yarn_container_id id = lend_one(w);
    unsigned n = 0;

    nm_lend_each_history(w->books, count_history, &n);
    assert_int_equal(n, 1);
    assert_true(nm_lend_ended(w->books, &id, false, BEGIN + 60 * SEC));
    n = 0;
    nm_lend_each_history(w->books, count_history, &n);
    assert_int_equal(n, 1);
}

static void test_the_rule_and_the_asks_of_a_master_are_explained(void **state)
{
    struct world *w = *state;

    (void)lend_one(w);
    ask(w, 10, 5, BEGIN + 32 * SEC);
    plan(w, &no_limits, BEGIN + 42 * SEC);
    expect_master(&w->v, "The rule of lending for this application is overflow:30, from nmd.lending.\n");
    expect_master(&w->v, "Lent now: 1 container with 1024 MiB, of which ");
    expect_master(&w->v, "Priority 10, 1024 MiB and 1 vcore: 5 wanted (the oldest for 10s), 0 asked for as "
                         "opportunistic, 0 lent. The rest is not lent: it has not waited long enough yet.\n");
    w->v.choice.source = NM_YARN_LENDING_QUEUE;
    expect_master(&w->v, "is overflow:30, from nmd.lending.queue.NAME for its queue.\n");
    w->v.choice = (struct nm_yarn_lending_choice){.source = NM_YARN_LENDING_CLUSTER, .lacks_wish = true};
    expect_master(&w->v, "is allowed, from nmd.lending.\nNothing is lent to it, because its master has no NMD_LEND.\n");
    w->v.choice = (struct nm_yarn_lending_choice){.source = NM_YARN_LENDING_TYPES};
    w->v.type = "Apache Flink";
    expect_master(&w->v, "because nmd.lending.types doesn't list its type, Apache Flink.\n");
    w->v.type = "A\nAll is well.\xff";
    expect_master(&w->v, "because nmd.lending.types doesn't list its type, A?All is well..\n");
    w->v.choice.source = NM_YARN_LENDING_NO_TYPE;
    expect_master(&w->v, "because the ResourceManager has not told its type yet.\n");
    w->v.choice = (struct nm_yarn_lending_choice){.source = NM_YARN_LENDING_APPLICATION, .wish_invalid = true};
    expect_master(&w->v, "because its NMD_LEND is not a rule. Allowed are on, off, overflow:SECONDS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_attempt_is_reported_as_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_times_are_converted_to_times_of_day, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_number_of_keys_is_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_are_left_out_or_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_master_that_registered_before_is_described, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_each_source_is_described, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_totals_count_since_the_start_of_nmd, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_totals_balance_after_the_end_of_an_attempt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_container_that_outlives_its_attempt_is_counted_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_state_that_cannot_be_saved_is_shown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_totals_are_reported_by_reason_and_queue, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_observed_containers_are_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_metrics_have_all_figures, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_history_of_a_container_is_explained, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_demotion_by_the_master_is_explained, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_story_of_an_adopted_container_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_application_of_a_container_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_each_history_of_the_books_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_rule_and_the_asks_of_a_master_are_explained, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("yarn-lend-view", tests, NULL, NULL);
}
