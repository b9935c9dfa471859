/* SPDX-License-Identifier: Apache-2.0 */

/* JSON answers have the members that the API documents, with the right types. Special values such as null are passed
 * on. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fake-manager.h"
#include "rpc/local/messages.h"
#include "rpc/local/metrics.h"

/* Returns the JSON value at a path such as "a.b.c". */
static const json_t *at(const json_t *j, const char *path)
{
    char copy[128], *p = copy, *name;

    (void)snprintf(copy, sizeof copy, "%s", path);
    while (j && (name = strsep(&p, ".")))
        j = json_object_get(j, name);
    return j;
}

static void assert_number(const json_t *j, const char *path, double value)
{
    if (!json_is_number(at(j, path)))
        fail_msg("%s is missing or not a number", path);
    assert_true(json_number_value(at(j, path)) == value);
}

static void assert_text(const json_t *j, const char *path, const char *value)
{
    if (!json_is_string(at(j, path)))
        fail_msg("%s is missing or not a string", path);
    assert_string_equal(json_string_value(at(j, path)), value);
}

static void assert_null_at(const json_t *j, const char *path)
{
    if (!json_is_null(at(j, path)))
        fail_msg("%s is missing or not null", path);
}

static void test_the_json_of_the_status_has_all_members(void **state)
{
    static const char *const numbers[] = {
        "node.capacity.memory_bytes",
        "node.capacity.vcores",
        "node.allocated.guaranteed.memory_bytes",
        "node.allocated.guaranteed.vcores",
        "node.allocated.opportunistic.memory_bytes",
        "node.allocated.opportunistic.vcores",
        "node.utilization.memory",
        "node.utilization.cpu",
        "node.over_allocation_threshold.memory",
        "node.over_allocation_threshold.cpu",
        "node.preemption_threshold.memory",
        "node.preemption_threshold.cpu",
        "node.sample.age_usec",
        "node.sample.period_usec",
        "node.sample.cost_usec",
        "containers.guaranteed_running",
        "containers.opportunistic_running",
        "containers.paused",
        "containers.queued",
        "containers.completed",
        "queue.length",
        "queue.max_length",
        "preemptions.paused",
        "preemptions.resumed",
        "preemptions.killed",
        "preemptions.reclaimed_bytes",
        "preemptions.running_reclaims",
    };
    struct nm_manager *m = fake_manager_new();
    json_t *j;

    (void)state;
    m->status.allocated_vcores_milli[NM_OPPORTUNISTIC] = 1500;
    m->status.allocated[NM_OPPORTUNISTIC].memory_bytes = 7;
    m->status.counters.reclaimed_bytes = 9;
    j = nm_messages_status(&m->status, 0, false, json_object());
    for (size_t i = 0; i < NM_ARRAY_SIZE(numbers); i++)
        if (!json_is_number(at(j, numbers[i])))
            fail_msg("%s is missing or not a number", numbers[i]);
    assert_text(j, "node.state", "running");
    assert_null_at(j, "upstream");
    assert_number(j, "node.capacity.vcores", 4);
    assert_number(j, "node.capacity.cpu_millicores", 4000);
    assert_number(j, "node.allocated.opportunistic.vcores", 1.5);
    assert_number(j, "node.allocated.opportunistic.memory_bytes", 7);
    assert_number(j, "node.allocated.guaranteed.memory_bytes", 0);
    assert_number(j, "node.over_allocation_threshold.memory", 0.8);
    assert_number(j, "queue.max_length", 10);
    assert_number(j, "preemptions.reclaimed_bytes", 9);
    assert_null_at(j, "queue.hold");
    assert_null_at(j, "node.squeeze_millicores");
    assert_null_at(j, "node.breaker_until_usec");
    assert_null_at(j, "node.surge_margin_until_usec");
    assert_null_at(j, "node.preemption_hold_text");
    assert_null_at(j, "node.removable_since_usec");
    json_decref(j);
    fake_manager_free(m);
}

static void test_optional_members_of_the_status_are_null_or_have_values(void **state)
{
    struct nm_manager *m = fake_manager_new();
    struct nm_status *s = &m->status;
    json_t *j;

    (void)state;
    s->queue_reason = NM_REASON_OVER_ALPHA;
    strcpy(s->queue_head_id, "container_1_000007");
    s->breaker_until_usec = 50;
    s->surge_margin_until_usec = 60;
    s->removable_since_realtime_usec = 70; /* the value of this member is realtime already */
    s->squeeze_millicores = 250;
    s->sample_age_usec = UINT64_MAX; /* no sample has been taken yet */
    s->healthy = false;
    strcpy(s->health_reason, "script: \xff ERROR");
    strcpy(s->over_beta, "Memory is full.");
    strcpy(s->notes[0], "memory limits: not enforced");
    s->n_notes = 1;
    strcpy(s->links[0].name, "eth0");
    s->n_links = 1;
    s->utilization.cpu = 0.0 / 0.0; /* NaN, for which JSON has no notation */
    j = nm_messages_status(s, 1000, false, json_object());
    assert_text(j, "queue.hold.reason", nm_reason_name(NM_REASON_OVER_ALPHA));
    assert_text(j, "queue.hold.container_id", "container_1_000007");
    assert_number(j, "node.breaker_until_usec", 1050);
    assert_number(j, "node.surge_margin_until_usec", 1060);
    assert_text(j, "node.preemption_hold_text", "Memory is full.");
    assert_number(j, "node.removable_since_usec", 70);
    assert_number(j, "node.squeeze_millicores", 250);
    assert_null_at(j, "node.sample.age_usec");
    assert_number(j, "node.utilization.cpu", 0);
    assert_text(j, "node.health_reason", "script: \xef\xbf\xbd ERROR");
    assert_string_equal(json_string_value(json_array_get(at(j, "node.notes"), 0)),
                        "memory limits: not enforced");
    assert_string_equal(json_string_value(at(json_array_get(at(j, "node.links"), 0), "name")),
                        "eth0");
    json_decref(j);
    s->upstream = (struct nm_upstream){.kind = "yarn", .state = "unreachable", .address = "rm:8031",
                                       .last_heartbeat_realtime_usec = 80, .failures = 3};
    j = nm_messages_status(s, 1000, true, json_pack("{s:n}", "masters"));
    assert_text(j, "upstream.state", "unreachable");
    assert_text(j, "upstream.address", "rm:8031");
    assert_number(j, "upstream.last_heartbeat_usec", 80);
    assert_number(j, "upstream.failures", 3);
    assert_null_at(j, "upstream.round_trip_usec");
    assert_null_at(j, "upstream.memory_bytes");
    assert_null_at(j, "upstream.masters");
    assert_null_at(j, "queue.hold.container_id");
    json_decref(j);
    j = nm_messages_status(s, 1000, true, json_pack("{s:{s:i}, s:s}", "masters", "attempts", 2, "more", "m"));
    assert_number(j, "upstream.masters.attempts", 2);
    assert_text(j, "upstream.more", "m");
    json_decref(j);
    s->upstream.kind = "none";
    j = nm_messages_status(s, 1000, true, json_pack("{s:n}", "masters"));
    assert_null_at(j, "upstream");
    json_decref(j);
    fake_manager_free(m);
}

static void test_the_json_of_a_running_container_has_all_members(void **state)
{
    static const char *const nulls[] = {
        "finished_usec",  "exit_code", "exit_reason",         "started_usec", "pid",
        "queue_position", "hold",      "pause_deadline_usec", "paused_usec"};
    struct nm_messages_container_extra x = {};
    struct nm_manager *m = fake_manager_new();
    struct nm_container *c = fake_manager_add(m, "web", 1000);
    json_t *j = nm_messages_container(c, &x);

    (void)state;
    assert_text(j, "id", "container_1_000001");
    assert_text(j, "name", "web");
    assert_null_at(j, "app");
    assert_text(j, "execution_type", "GUARANTEED");
    assert_text(j, "state", "RUNNING");
    assert_number(j, "memory_bytes", 64 * 1048576);
    assert_number(j, "vcores", 0.5);
    assert_number(j, "cpu_request_millicores", 250);
    assert_number(j, "memory_used_bytes", 0);
    assert_number(j, "cpu_used_millicores", 0);
    assert_number(j, "memory_peak_bytes", 0);
    assert_number(j, "submitter_uid", 1000);
    for (size_t i = 0; i < NM_ARRAY_SIZE(nulls); i++)
        assert_null_at(j, nulls[i]);
    json_decref(j);
    fake_manager_free(m);
}

static void test_the_json_of_a_paused_and_a_queued_container_has_all_members(void **state)
{
    struct nm_messages_container_extra x = {
        .queue_position = 3, .queue_reason = NM_REASON_BREAKER, .boot_to_realtime_usec = 1000000};
    struct nm_manager *m = fake_manager_new();
    struct nm_container *c = fake_manager_add(m, "web", 1000);
    json_t *j;

    (void)state;
    c->view.state = NM_PAUSED;
    c->view.paused_usec = 10;
    c->view.pause_deadline_usec = 20;
    c->pid = 77;
    j = nm_messages_container(c, &x);
    assert_number(j, "paused_usec", 1000010);
    assert_number(j, "pause_deadline_usec", 1000020);
    assert_number(j, "queue_position", 3);
    assert_text(j, "hold", nm_reason_name(NM_REASON_BREAKER));
    assert_number(j, "pid", 77);
    json_decref(j);
    fake_manager_free(m);
}

static void test_the_json_of_an_ended_container_has_all_members(void **state)
{
    struct nm_messages_container_extra x = {};
    struct nm_manager *m = fake_manager_new();
    struct nm_container *c = fake_manager_add(m, "web", 1000);
    json_t *j;

    (void)state;
    c->view.state = NM_COMPLETED;
    c->exit_code = 137;
    c->exit_signal = 9;
    c->exit_reason = NM_EXIT_OOM;
    c->finished_realtime_usec = 5;
    j = nm_messages_container(c, &x);
    assert_number(j, "exit_code", 137);
    assert_number(j, "exit_signal", 9);
    assert_text(j, "exit_reason", "oom-killed");
    assert_null_at(j, "exit_cause"); /* the container was killed at its own limit, without a decision of the policy */
    assert_null_at(j, "exit_decision_number");
    assert_null_at(j, "owner_code");
    assert_number(j, "finished_usec", 5);
    json_decref(j);
    c->exit_code = -1; /* the container never ran */
    c->exit_signal = 0;
    c->exit_reason = NM_EXIT_SHED;
    c->exit_cause = NM_REASON_SHED;
    c->exit_decision = 42;
    c->owner_code = -108;
    j = nm_messages_container(c, &x);
    assert_null_at(j, "exit_code");
    assert_null_at(j, "exit_signal");
    assert_text(j, "exit_reason", "shed");
    assert_text(j, "exit_cause", "shed");
    assert_number(j, "exit_decision_number", 42);
    assert_number(j, "owner_code", -108);
    json_decref(j);
    fake_manager_free(m);
}

static void test_a_container_of_another_user_is_shown_without_its_command(void **state)
{
    static const char *const private[] = {"command",       "workdir", "user",   "owner",
                                          "submitter_uid", "pid",     "message", "progress",
                                          "log_dir"};
    struct nm_messages_container_extra x = {.redacted = true};
    struct nm_manager *m = fake_manager_new();
    struct nm_container *c = fake_manager_add(m, "web", 1000);
    json_t *j;

    (void)state;
    c->command.argv = nm_strv_pack((const char *[]){"--password=hunter2"}, 1);
    c->command.env = nm_strv_pack((const char *[]){"SECRET=1"}, 1);
    j = nm_messages_container(c, &x);
    for (size_t i = 0; i < NM_ARRAY_SIZE(private); i++)
        assert_null(at(j, private[i]));
    assert_text(j, "name", "web");
    json_decref(j);
    x.redacted = false;
    j = nm_messages_container(c, &x);
    assert_string_equal(json_string_value(json_array_get(at(j, "command"), 0)),
                        "--password=hunter2");
    assert_null(at(j, "env")); /* the environment isn't part of an answer, because users put secrets there */
    json_decref(j);
    fake_manager_free(m);
}

static void test_the_json_of_an_event_has_all_members(void **state)
{
    struct nm_event_record e = {.number = 5,
                                .realtime_usec = 6,
                                .kind = NM_EVENT_STATE,
                                .from = NM_RUNNING,
                                .to = NM_PAUSING,
                                .type = NM_OPPORTUNISTIC,
                                .container_id = "container_1_000001"};
    json_t *j = nm_messages_event(&e);

    (void)state;
    assert_number(j, "number", 5);
    assert_number(j, "time_usec", 6);
    assert_text(j, "kind", "state");
    assert_text(j, "from", "RUNNING");
    assert_text(j, "to", "PAUSING");
    assert_text(j, "from_text", "RUNNING");
    assert_text(j, "to_text", "PAUSING");
    assert_text(j, "container_id", "container_1_000001");
    assert_null_at(j, "container_name");
    assert_text(j, "execution_type", "OPPORTUNISTIC");
    assert_null_at(j, "decision_number");
    assert_null_at(j, "decision_kind");
    assert_null_at(j, "text");
    json_decref(j);
    e = (struct nm_event_record){.number = 7, .kind = NM_EVENT_NODE, .text = "draining"};
    j = nm_messages_event(&e);
    assert_text(j, "kind", "node");
    assert_text(j, "text", "draining");
    assert_null_at(j, "from");
    assert_null_at(j, "from_text");
    assert_null_at(j, "container_id");
    assert_null_at(j, "execution_type");
    json_decref(j);
    e = (struct nm_event_record){.number = 9, .kind = NM_EVENT_STATE, .from = NM_SCHEDULED, .to = NM_COMPLETED};
    j = nm_messages_event(&e);
    assert_text(j, "from_text", "QUEUED");
    assert_text(j, "to_text", "ENDED");
    json_decref(j);
    e = (struct nm_event_record){.number = 8, .kind = NM_EVENT_DECISION, .container_id = "container_1_000001",
                                 .decision_number = 4, .decision_kind = NM_DECISION_PROMOTE};
    j = nm_messages_event(&e);
    assert_text(j, "decision_kind", "promote");
    assert_number(j, "decision_number", 4);
    json_decref(j);
}

static void test_the_json_of_a_decision_has_all_members(void **state)
{
    struct nm_decision d = {.number = 3,
                            .kind = NM_DECISION_PAUSE,
                            .reason = NM_REASON_CPU_OVER_BETA,
                            .resource = NM_CPU,
                            .container_id = "container_1_000001",
                            .by_user = "root",
                            .capacity = {1000, 1000}};
    json_t *j = nm_messages_decision(&d, false);
    char *text;

    (void)state;
    assert_true(json_string_length(at(j, "summary")) > 0);
    assert_true(json_string_length(at(j, "explanation")) > 0);
    text = json_dumps(j, 0);
    assert_non_null(strstr(text, "root"));
    free(text);
    json_decref(j);
    j = nm_messages_decision(&d, true);
    text = json_dumps(j, 0);
    assert_null(strstr(text, "root"));
    free(text);
    json_decref(j);
}

/* Decisions and events that are not on disk yet, and that a restart could lose, are marked. Their text says so. */
static void test_an_unsaved_decision_or_event_is_marked(void **state)
{
    const struct nm_decision d = {.number = 3, .kind = NM_DECISION_PAUSE, .is_unsaved = true};
    const struct nm_event_record e = {.number = 4, .kind = NM_EVENT_NODE, .is_unsaved = true};
    json_t *j = nm_messages_decision(&d, false);

    (void)state;
    assert_true(json_is_false(at(j, "durable")));
    assert_non_null(strstr(json_string_value(at(j, "explanation")), "not on disk yet"));
    json_decref(j);
    j = nm_messages_event(&e);
    assert_true(json_is_false(at(j, "durable")));
    json_decref(j);
    j = nm_messages_event(&(struct nm_event_record){.number = 4, .kind = NM_EVENT_NODE});
    assert_true(json_is_true(at(j, "durable")));
    json_decref(j);
}

/* Times are realtime, independently of the boot. Absent members are null. Vcores have the value that was requested. */
static void test_times_and_amounts_have_the_documented_units(void **state)
{
    static const char *const absent[] = {"container_id", "container_name", "on_behalf_of_id", "by_user", "error",
                                         "queue_max_length", "regained", "stall", "margin_bytes"};
    struct nm_decision d = {.number = 3,
                            .kind = NM_DECISION_REFUSE,
                            .reason = NM_REASON_QUEUE_FULL,
                            .realtime_usec = 1000000,
                            .first_realtime_usec = 900000,
                            .n_times = 7,
                            .cause_usec = 300,
                            .decided_usec = 500,
                            .request = {100, 1500},
                            .waiting = {300, 1000},
                            .allocated = {700, 1500},
                            .allocated_guaranteed = {400, 1000},
                            .measured = {1, 2},
                            .reserved = {3, 4},
                            .others = {5, 6},
                            .used = {9, 12},
                            .queue_max_length = UINT32_MAX,
                            .capacity = {1000, 2000},
                            .capacity_vcores_milli = 4000};
    json_t *j = nm_messages_decision(&d, false);

    (void)state;
    assert_number(j, "time_usec", 1000000);
    assert_number(j, "first_time_usec", 900000);
    assert_number(j, "count", 7);
    assert_number(j, "cause_usec", 999800);
    assert_number(j, "decided_usec", 1000000);
    assert_null_at(j, "acted_usec");
    assert_number(j, "request.vcores", 3);
    assert_number(j, "queued.vcores", 2);
    assert_number(j, "allocated.guaranteed.vcores", 2);
    assert_number(j, "allocated.opportunistic.memory_bytes", 300);
    assert_number(j, "used_by.containers.cpu_millicores", 2);
    assert_number(j, "used_by.others.memory_bytes", 5);
    assert_number(j, "reserved.cpu_millicores", 4);
    assert_number(j, "used_or_reserved.memory_bytes", 9);
    for (size_t i = 0; i < NM_ARRAY_SIZE(absent); i++)
        assert_null_at(j, absent[i]);
    json_decref(j);

    d.reason = NM_REASON_GUARANTEED_STALLED;
    d.stall_permille = 250;
    d.margin_bytes = 1;
    d.margin_peak_permille = 500;
    j = nm_messages_decision(&d, false);
    assert_number(j, "stall", 0.25);
    assert_number(j, "stall_base", 0);
    assert_number(j, "margin_peak", 0.5);
    json_decref(j);
}

static void test_the_json_of_an_ended_application_has_all_members(void **state)
{
    struct nm_ended_app e = {.name = "job", .submitter_uid = 7, .first_submitted_usec = 1, .last_ended_usec = 2,
                             .succeeded = 3, .failed = 4, .killed = 5, .cpu_time_usec = 6, .memory_peak_bytes = 8};
    json_t *j = nm_messages_ended_app(&e, false);

    (void)state;
    assert_text(j, "app", "job");
    assert_number(j, "submitter_uid", 7);
    assert_number(j, "first_submitted_usec", 1);
    assert_number(j, "last_ended_usec", 2);
    assert_number(j, "succeeded", 3);
    assert_number(j, "failed", 4);
    assert_number(j, "killed", 5);
    assert_number(j, "cpu_time_usec", 6);
    assert_number(j, "memory_peak_bytes", 8);
    json_decref(j);
    j = nm_messages_ended_app(&e, true);
    assert_null_at(j, "submitter_uid");
    json_decref(j);
}

static void test_the_json_of_the_history_has_all_members(void **state)
{
    struct nm_history_point p = {.realtime_usec = 4,
                                 .use = {[NM_HISTORY_RESERVED] = {.memory_bytes = 5},
                                         [NM_HISTORY_USED_BY_OPPORTUNISTIC] = {.cpu_millicores = 6},
                                         [NM_HISTORY_ALLOCATED_GUARANTEED] = {.memory_bytes = 7}},
                                 .uplink_permille = 500,
                                 .paused = 2,
                                 .pressure = {[NM_HISTORY_MEMORY_SOME] = 125, [NM_HISTORY_CPU_SOME] = 1000}};
    json_t *j;

    (void)state;
    j = nm_messages_history_point(&p);
    assert_number(j, "time_usec", 4);
    assert_number(j, "reserved.memory_bytes", 5);
    assert_number(j, "used_by.opportunistic.cpu_millicores", 6);
    assert_number(j, "allocated.guaranteed.memory_bytes", 7);
    assert_number(j, "uplink_utilization", 0.5);
    assert_number(j, "paused", 2);
    assert_number(j, "pressure.memory_some_avg10", 12.5);
    assert_number(j, "pressure.memory_full_avg10", 0);
    assert_number(j, "pressure.cpu_some_avg10", 100);
    json_decref(j);
}

/* ---- metrics ------------------------------------------------------------------------------ */

/* Writes metrics in the same way as an upstream. */
static void write_own(void *userdata, const struct nm_metric_writer *w)
{
    const struct nm_metric_label label = {"way", "a\"b"};
    struct nm_histogram h = {.count = {[1] = 4}, .sum_usec = 1500000, .n = 4};

    (void)userdata;
    w->family(w->to, "nm_own_things", NM_METRIC_GAUGE, "Things.");
    w->sample(w->to, "nm_own_things", NULL, 2);
    w->family(w->to, "nm_own_calls_total", NM_METRIC_COUNTER, "Calls.");
    w->sample(w->to, "nm_own_calls_total", &label, 5);
    w->family(w->to, "nm_own_seconds", NM_METRIC_HISTOGRAM, "Times.");
    w->histogram(w->to, "nm_own_seconds", &label, &h);
}

static void write_nothing(void *userdata, const struct nm_metric_writer *w)
{
    (void)userdata, (void)w;
}

static void test_metrics_have_the_values_of_the_node(void **state)
{
    struct nm_manager *m = fake_manager_new();
    char *text;
    size_t len;

    (void)state;
    m->status.n_links = 1;
    strcpy(m->status.links[0].name, "a\"b\\c\nd");
    m->status.reaction_kill.count[0] = 2;
    m->status.reaction_kill.count[NM_HISTOGRAM_BUCKETS] = 1;
    m->status.reaction_kill.sum_usec = 1500000;
    m->status.counters.wasted_cpu_usec = 2500000;
    m->status.counters.killed = 9;
    m->status.counters.by_reason[NM_COUNT_KILLED][NM_REASON_PAUSE_DEADLINE] = 4;
    m->status.counters.by_reason[NM_COUNT_KILLED][NM_REASON_FREEZE_HANGS] = 2;
    m->status.reserved = (struct nm_resources){7, 1500};
    m->status.own_rss_bytes = 6 * NM_MIB;
    m->status.removable_since_realtime_usec = 1500000;
    assert_int_equal(nm_metrics_format(&m->status, write_nothing, NULL, &text, &len), 0);
    assert_int_equal(strlen(text), len);
    assert_non_null(strstr(text, "nm_capacity_memory_bytes 8589934592\n"));
    assert_non_null(strstr(text, "nm_reserved_cpu_cores 1.5\n"));
    assert_non_null(strstr(text, "nm_kills_total{reason=\"memory-over-beta\"} 0\n"));
    assert_non_null(strstr(text, "nm_kills_total{reason=\"pause-deadline\"} 4\n"));
    assert_non_null(strstr(text, "nm_kills_total{reason=\"freeze-hangs\"} 2\n"));
    assert_non_null(strstr(text, "nm_kills_total{reason=\"unrecorded\"} 3\n"));
    assert_null(strstr(text, "nm_pauses_total{reason=\"unrecorded\"}"));
    assert_non_null(strstr(text, "nm_link_receive_bytes_total{link=\"a\\\"b\\\\c\\nd\"} 0\n"));
    assert_non_null(strstr(text, "nm_reaction_seconds_bucket{action=\"kill\",le=\"0.001\"} 2\n"));
    assert_non_null(strstr(text, "nm_reaction_seconds_bucket{action=\"kill\",le=\"30\"} 2\n"));
    assert_non_null(strstr(text, "nm_reaction_seconds_bucket{action=\"kill\",le=\"+Inf\"} 3\n"));
    assert_non_null(strstr(text, "nm_reaction_seconds_sum{action=\"kill\"} 1.5\n"));
    assert_non_null(strstr(text, "nm_reaction_seconds_count{action=\"kill\"} 3\n"));
    assert_non_null(strstr(text, "nm_wasted_cpu_seconds_total 2.5\n"));
    assert_non_null(strstr(text, "nm_process_resident_memory_bytes 6291456\n"));
    assert_non_null(strstr(text, "nm_node_removable_since_seconds 1.5\n"));
    assert_non_null(strstr(text, "nm_node_state{state=\"running\"} 1\n"));
    assert_non_null(strstr(text, "nm_node_state{state=\"shadow\"} 0\n"));
    free(text);
    fake_manager_free(m);
}

static void test_metrics_of_an_upstream_are_part_of_the_metrics(void **state)
{
    struct nm_manager *m = fake_manager_new();
    char *text, *own;
    size_t len;

    (void)state;
    m->status.upstream.kind = "yarn";
    m->status.upstream.state = "running";
    assert_int_equal(nm_metrics_format(&m->status, write_own, NULL, &text, &len), 0);
    assert_non_null(strstr(text, "nm_upstream_rpc_seconds_count{kind=\"yarn\"} 0\n# HELP nm_own_things"));
    own = strstr(text, "# HELP nm_own_things");
    *strstr(own, "nm_own_seconds_bucket{way=\"a\\\"b\",le=\"0.005\"}") = '\0';
    assert_string_equal(own,
                        "# HELP nm_own_things Things.\n# TYPE nm_own_things gauge\nnm_own_things 2\n"
                        "# HELP nm_own_calls_total Calls.\n# TYPE nm_own_calls_total counter\n"
                        "nm_own_calls_total{way=\"a\\\"b\"} 5\n"
                        "# HELP nm_own_seconds Times.\n# TYPE nm_own_seconds histogram\n"
                        "nm_own_seconds_bucket{way=\"a\\\"b\",le=\"0.001\"} 0\n"
                        "nm_own_seconds_bucket{way=\"a\\\"b\",le=\"0.002\"} 4\n");
    free(text);
    fake_manager_free(m);
}

/* Each metric family is announced once, with help and type, before its samples. Its name begins with nm_. */
static void test_each_metric_family_is_announced_once(void **state)
{
    struct nm_manager *m = fake_manager_new();
    char *text, *rest, *line, name[128] = "", seen[16384] = "\n";
    size_t len;

    (void)state;
    m->status.n_links = 2;
    m->status.queue_reason = NM_REASON_BREAKER;
    m->status.squeeze_millicores = 5;
    m->status.upstream = (struct nm_upstream){.kind = "yarn", .state = "running"};
    assert_int_equal(nm_metrics_format(&m->status, write_own, NULL, &text, &len), 0);
    for (rest = text; (line = strsep(&rest, "\n")) && rest;) {
        char type[32], announced[160];
        if (strncmp(line, "# HELP ", 7) == 0) {
            assert_int_equal(sscanf(line, "# HELP %127s", name), 1);
            (void)snprintf(announced, sizeof announced, "\n%s\n", name);
            assert_null(strstr(seen, announced));
            strcat(seen, announced);
            assert_int_equal(strncmp(name, "nm_", 3), 0);
        } else if (*line == '#') {
            char again[128];
            assert_int_equal(sscanf(line, "# TYPE %127s %31s", again, type), 2);
            assert_string_equal(again, name);
            assert_int_equal(nm_streq(type, "counter"), strstr(name, "_total") != NULL);
        } else {
            assert_int_equal(strncmp(line, name, strlen(name)), 0);
        }
    }
    free(text);
    fake_manager_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_json_of_the_status_has_all_members),
        cmocka_unit_test(test_optional_members_of_the_status_are_null_or_have_values),
        cmocka_unit_test(test_the_json_of_a_running_container_has_all_members),
        cmocka_unit_test(test_the_json_of_a_paused_and_a_queued_container_has_all_members),
        cmocka_unit_test(test_the_json_of_an_ended_container_has_all_members),
        cmocka_unit_test(test_a_container_of_another_user_is_shown_without_its_command),
        cmocka_unit_test(test_the_json_of_an_event_has_all_members),
        cmocka_unit_test(test_the_json_of_a_decision_has_all_members),
        cmocka_unit_test(test_an_unsaved_decision_or_event_is_marked),
        cmocka_unit_test(test_times_and_amounts_have_the_documented_units),
        cmocka_unit_test(test_the_json_of_the_history_has_all_members),
        cmocka_unit_test(test_the_json_of_an_ended_application_has_all_members),
        cmocka_unit_test(test_metrics_have_the_values_of_the_node),
        cmocka_unit_test(test_metrics_of_an_upstream_are_part_of_the_metrics),
        cmocka_unit_test(test_each_metric_family_is_announced_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
