/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Structs into JSON. An object is written as the list of its members, whose values are made on the
 * spot. A value that could not be made, for want of memory, makes its object NULL and releases the
 * other values, and so on outwards: no branch per member is needed. All text goes through
 * nm_messages_string(), for JSON knows no other than UTF-8.
 */

#include "rpc/local/messages.h"

#include <assert.h>
#include <math.h>

#include "util/clock.h"

#define COMMAND_HEAD_BYTES 120

struct member {
    const char *name;
    json_t *value; /* taken */
};

static json_t *make_object(const struct member *m)
{
    json_t *o = json_object();

    assert(m->name); /* an object without members is nobody's wish */
    for (; m->name; m++) {
        /* Takes the value in any case; fails when it or the object is NULL. */
        if (json_object_set_new_nocheck(o, m->name, m->value) < 0) {
            json_decref(o);
            o = NULL;
        }
    }
    return o;
}

#define OBJECT(...) make_object((const struct member[]){__VA_ARGS__, {NULL, NULL}})

/* Appends a value that is taken. Returns the array, or NULL with everything released. */
static json_t *append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) == 0)
        return array;
    json_decref(array);
    return NULL;
}

/* Moves the members of `from` into `o` and releases `from`. Returns o, or NULL with both gone. */
static json_t *merge(json_t *o, json_t *from)
{
    int r = o && from ? json_object_update(o, from) : -1;

    json_decref(from);
    if (r == 0)
        return o;
    json_decref(o);
    return NULL;
}

/* jansson's integers are signed. */
static json_t *integer(uint64_t v)
{
    return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

static json_t *integer_or_null(uint64_t v, bool is_null)
{
    return is_null ? json_null() : integer(v);
}

/* JSON has neither NaN nor infinity, and jansson makes nothing of them. */
static json_t *real(double v)
{
    return json_real(isfinite(v) ? v : 0.0);
}

static json_t *string_or_null(const char *s)
{
    return s && *s ? nm_messages_string(s) : json_null();
}

/* ---- container ------------------------------------------------------------------------------ */

static json_t *string_array(char *const *v)
{
    json_t *a = json_array();

    for (; a && v && *v; v++)
        a = append(a, nm_messages_string(*v));
    return a;
}

/* The first words of a command, for lists: a command may be half a megabyte, and a list has hundreds. */
static json_t *command_head(char *const *argv)
{
    json_t *a = json_array();
    size_t len = 0;

    for (; a && argv && *argv; argv++) {
        char word[COMMAND_HEAD_BYTES];
        nm_messages_shorten(word, sizeof word, *argv);
        len += strlen(word) + 1;
        if (len > sizeof word && json_array_size(a) > 0)
            return append(a, json_string("..."));
        a = append(a, nm_messages_string(word));
    }
    return a;
}

static json_t *command(const struct nm_container *c, bool listed)
{
    const struct nm_command *cmd = &c->command;

    if (listed)
        return OBJECT({"command_head", command_head(cmd->argv)});
    return OBJECT({"command", string_array(cmd->argv)}, {"workdir", string_or_null(cmd->workdir)},
                  {"log_dir", string_or_null(c->log_dir)});
}

/* The part that says who and where, which readers over TCP don't get. The environment is told to
 * nobody: it is where people put secrets. */
static json_t *container_private(const struct nm_container *c, bool listed)
{
    const struct nm_command *cmd = &c->command;
    bool has_pid = c->pid > 0 && c->view.state != NM_COMPLETED; /* it may be another's by then */

    return merge(command(c, listed),
                 OBJECT({"user", string_or_null(cmd->user)},
                        {"owner", nm_messages_string(c->owner)},
                        {"submitter_uid", integer(c->submitter_uid)},
                        {"pid", integer_or_null((uint64_t)c->pid, !has_pid)},
                        {"message", string_or_null(c->message)},
                        {"progress", string_or_null(c->progress)},
                        {"no_new_privs", json_boolean(cmd->no_new_privs)}));
}

/* Deadlines are kept in the time since boot, which nobody can set; readers get the time of day. */
static json_t *container_times(const struct nm_container *c,
                               const struct nm_messages_container_extra *x)
{
    const struct nm_view *v = &c->view;
    bool paused = (v->state == NM_PAUSING || v->state == NM_PAUSED) &&
                  v->pause_deadline_usec != UINT64_MAX;
    uint64_t started = c->started_realtime_usec, finished = c->finished_realtime_usec;
    uint64_t shift = x->boot_to_realtime_usec;

    return OBJECT({"submitted_usec", integer(c->submitted_realtime_usec)},
                  {"started_usec", integer_or_null(started, started == 0)},
                  {"finished_usec", integer_or_null(finished, finished == 0)},
                  {"paused_usec", integer_or_null(v->paused_usec + shift, !paused)},
                  {"pause_deadline_usec", integer_or_null(v->pause_deadline_usec + shift, !paused)},
                  {"min_runtime_usec", integer(v->min_runtime_usec)},
                  {"expected_usec", integer_or_null(v->expected_usec, v->expected_usec == 0)});
}

static json_t *container_usage(const struct nm_container *c)
{
    const struct nm_view *v = &c->view;

    return OBJECT({"memory_bytes", integer(v->request.memory_bytes)},
                  {"vcores", nm_messages_vcores(c->vcores_milli)},
                  {"cpu_request_millicores", integer(v->request.cpu_millicores)},
                  {"memory_used_bytes", integer(v->measured.memory_bytes)},
                  {"cpu_millicores", integer(v->measured.cpu_millicores)},
                  {"peak_memory_bytes", integer(c->memory_peak_bytes)},
                  {"swap_bytes", integer(c->swap_bytes)},
                  {"cpu_usage_usec", integer(v->cpu_usage_usec)},
                  {"oom_kills", integer(c->oom_kills)});
}

/* exit_code stays null for what never ran: exit_reason says why it did not. */
static json_t *container_end(const struct nm_container *c)
{
    bool ended = c->view.state == NM_COMPLETED, ran = ended && c->exit_code >= 0;
    bool signaled = ran && c->exit_signal > 0, caused = c->exit_cause != NM_REASON_NONE;
    const char *reason = ended ? nm_exit_reason_name(c->exit_reason) : NULL;
    const char *kill_reason = ended ? NULL : nm_exit_reason_name(c->kill_reason);

    return OBJECT({"exit_code", ran ? json_integer(c->exit_code) : json_null()},
                  {"exit_signal", signaled ? json_integer(c->exit_signal) : json_null()},
                  {"exit_reason", string_or_null(reason)},
                  {"kill_reason", string_or_null(kill_reason)},
                  {"exit_cause", caused ? json_string(nm_reason_name(c->exit_cause)) : json_null()},
                  {"exit_decision", integer_or_null(c->exit_decision, c->exit_decision == 0)},
                  {"owner_code", c->owner_code ? json_integer(c->owner_code) : json_null()},
                  {"keep_result", json_boolean(c->keep_result)});
}

json_t *nm_messages_container(const struct nm_container *c,
                              const struct nm_messages_container_extra *x)
{
    const struct nm_view *v = &c->view;
    bool held = x->hold != NM_REASON_NONE;
    json_t *o = OBJECT({"id", nm_messages_string(c->id)},
                       {"number", integer(v->seq)},
                       {"name", nm_messages_string(c->name)},
                       {"app", nm_messages_string(c->app)},
                       {"execution_type", json_string(nm_execution_type_name(v->type))},
                       {"state", json_string(nm_state_name(v->state))},
                       {"exempt", json_boolean(v->exempt)},
                       {"paused_by_user", json_boolean(v->user_paused)},
                       {"queue_position",
                        integer_or_null(x->queue_position, x->queue_position == 0)},
                       {"hold", string_or_null(held ? nm_reason_name(x->hold) : NULL)},
                       {"hold_text", string_or_null(held ? nm_reason_text(x->hold) : NULL)});

    o = merge(o, container_usage(c));
    o = merge(o, container_times(c, x));
    o = merge(o, container_end(c));
    return x->redacted ? o : merge(o, container_private(c, x->listed));
}

/* ---- status --------------------------------------------------------------------------------- */

/* CPU twice: as it is asked for, and what that comes to in CPUs, which is what use is measured in. */
static json_t *amount(const struct nm_resources *r, uint64_t vcores_milli)
{
    return OBJECT({"memory_bytes", integer(r->memory_bytes)},
                  {"vcores", nm_messages_vcores(vcores_milli)},
                  {"cpu_millicores", integer(r->cpu_millicores)});
}

static json_t *resources(const struct nm_resources *r)
{
    return OBJECT({"memory_bytes", integer(r->memory_bytes)},
                  {"cpu_millicores", integer(r->cpu_millicores)});
}

static json_t *fractions(const struct nm_fractions *f)
{
    return OBJECT({"memory", real(f->memory)}, {"cpu", real(f->cpu)});
}

static json_t *by_type(json_t *guaranteed, json_t *opportunistic)
{
    return OBJECT({"guaranteed", guaranteed}, {"opportunistic", opportunistic});
}

static json_t *notes(const struct nm_status *s)
{
    json_t *a = json_array();

    for (unsigned i = 0; a && i < s->n_notes; i++)
        a = append(a, nm_messages_string(s->notes[i]));
    return a;
}

static json_t *features(const struct nm_cgroup_backend *b)
{
    json_t *o = json_object();

    for (int i = 0; o && b && i < NM_CGROUP_FEATURE_COUNT; i++)
        o = merge(o, OBJECT({nm_cgroup_feature_name((enum nm_cgroup_feature)i),
                             json_boolean(b->feature[i])}));
    return o;
}

static json_t *links(const struct nm_status *s)
{
    json_t *a = json_array();

    for (unsigned i = 0; a && i < s->n_links; i++) {
        const struct nm_link_sample *l = &s->links[i];
        a = append(a, OBJECT({"name", nm_messages_string(l->name)},
                             {"up", json_boolean(l->up)},
                             {"uplink", json_boolean(l->uplink)},
                             {"rx_bytes", integer(l->rx_bytes)},
                             {"tx_bytes", integer(l->tx_bytes)},
                             {"rx_bytes_per_second", integer(l->rx_bytes_per_sec)},
                             {"tx_bytes_per_second", integer(l->tx_bytes_per_sec)},
                             {"speed_mbit", integer_or_null(l->speed_mbit, l->speed_mbit == 0)},
                             {"utilization", real(l->utilization)}));
    }
    return a;
}

/* The members of "node" that every client may rely on. */
static json_t *node_contract(const struct nm_status *s)
{
    const struct nm_resources *a = s->allocated;
    const uint32_t *v = s->allocated_vcores_milli;
    uint64_t age = s->sample_age_usec;

    return OBJECT(
        {"state", json_string(nm_node_state_name(s->state))},
        {"backend", json_string(s->backend ? s->backend->ops->name : "none")},
        {"capacity", amount(&s->capacity, s->capacity_vcores_milli)},
        {"allocated",
         by_type(amount(&a[NM_GUARANTEED], v[NM_GUARANTEED]),
                 amount(&a[NM_OPPORTUNISTIC], v[NM_OPPORTUNISTIC]))},
        {"utilization", fractions(&s->utilization)},
        {"over_allocation_threshold", fractions(&s->settings.over_allocation_threshold)},
        {"preemption_threshold", fractions(&s->settings.preemption_threshold)},
        {"sample", OBJECT({"age_usec", integer_or_null(age, age == UINT64_MAX)},
                          {"period_usec", integer(s->sample_period_usec)},
                          {"cost_usec", integer(s->sample_cost_usec)})});
}

static json_t *node_policy(const struct nm_status *s, uint64_t boot_to_realtime_usec)
{
    const struct nm_policy_settings *p = &s->settings;
    uint64_t squeeze = s->squeeze_millicores, breaker = s->breaker_until_usec;
    uint64_t margin = s->surge_margin_until_usec;

    return OBJECT({"used", resources(&s->used)},
                  {"used_by", by_type(resources(&s->used_by[NM_GUARANTEED]),
                                      resources(&s->used_by[NM_OPPORTUNISTIC]))},
                  {"over_allocation", json_boolean(p->over_allocation)},
                  {"pause", json_boolean(p->pause_enabled)},
                  {"victim_order", json_string(nm_victim_order_name(p->victim_order))},
                  {"queue_order", json_string(nm_queue_order_name(p->queue_order))},
                  {"squeeze_millicores", integer_or_null(squeeze, squeeze == NM_NO_SQUEEZE)},
                  {"breaker_until_usec",
                   integer_or_null(breaker + boot_to_realtime_usec, breaker == 0)},
                  {"surge_margin_until_usec",
                   integer_or_null(margin + boot_to_realtime_usec, margin == 0)});
}

/* What an operator looks at when something is wrong, down to nmd's own size. */
static json_t *node_health(const struct nm_status *s)
{
    const struct nm_cgroup_backend *b = s->backend;
    uint64_t deadline = s->drain_deadline_realtime_usec, removable = s->removable_since_realtime_usec;

    return OBJECT({"slice", string_or_null(b ? b->slice : NULL)},
                  {"user_manager", json_boolean(b && b->user_manager)},
                  {"features", features(b)},
                  {"notes", notes(s)},
                  {"healthy", json_boolean(s->healthy)},
                  {"health_reason", string_or_null(s->health_reason)},
                  {"drained", json_boolean(s->drained)},
                  {"drain_deadline_usec", integer_or_null(deadline, deadline == 0)},
                  {"removable_since_usec", integer_or_null(removable, removable == 0)},
                  {"started_usec", integer(s->started_realtime_usec)},
                  {"own", OBJECT({"rss_bytes", integer(s->own_rss_bytes)},
                                 {"cpu_usec", integer(s->own_cpu_usec)})});
}

/* What the machine itself says. */
static json_t *node_machine(const struct nm_status *s)
{
    const struct nm_node_sample *n = &s->node;

    return OBJECT(
        {"machine", OBJECT({"memory_total_bytes", integer(n->memory_total_bytes)},
                           {"memory_available_bytes", integer(n->memory_available_bytes)},
                           {"hugetlb_bytes", integer(n->hugetlb_bytes)},
                           {"swap_total_bytes", integer(n->swap_total_bytes)},
                           {"swap_free_bytes", integer(n->swap_free_bytes)},
                           {"cpus", integer(n->n_cpus)},
                           {"cpu_busy_millicores", integer(n->cpu_busy_millicores)})},
        {"pressure", OBJECT({"memory_some_avg10", real(n->memory_pressure_some_avg10)},
                            {"memory_full_avg10", real(n->memory_pressure_full_avg10)},
                            {"cpu_some_avg10", real(n->cpu_pressure_some_avg10)})},
        {"links", links(s)});
}

static json_t *counters(const struct nm_counters *c)
{
    return OBJECT({"submitted", integer(c->submitted)},
                  {"admitted", integer(c->admitted)},
                  {"refused", integer(c->refused)},
                  {"completed", integer(c->completed)},
                  {"shed", integer(c->shed)},
                  {"kernel_oom_kills", integer(c->kernel_oom_kills)},
                  {"wasted_cpu_usec", integer(c->wasted_cpu_usec)},
                  {"samples", integer(c->samples)},
                  {"late_samples", integer(c->late_samples)},
                  {"pressure_events", integer(c->pressure_events)},
                  {"drift_repairs", integer(c->drift_repairs)},
                  {"unkillable", integer(c->unkillable)});
}

/* Why the head of the queue waits. Whose container that is isn't for everybody. */
static json_t *hold(const struct nm_status *s, bool redacted)
{
    if (s->hold == NM_REASON_NONE)
        return json_null();
    return OBJECT({"reason", json_string(nm_reason_name(s->hold))},
                  {"text", nm_messages_string(nm_reason_text(s->hold))},
                  {"container", string_or_null(redacted ? NULL : s->hold_id)});
}

static json_t *upstream(const struct nm_upstream *u)
{
    uint64_t beat = u->last_heartbeat_realtime_usec, memory = u->memory_bytes;
    json_t *o = OBJECT({"kind", json_string(u->kind ? u->kind : "none")},
                       {"state", json_string(u->state ? u->state : "none")});

    if (!u->kind || nm_streq(u->kind, "none"))
        return o;
    return merge(o, OBJECT({"address", string_or_null(u->address)},
                           {"node", string_or_null(u->node)},
                           {"trouble", string_or_null(u->trouble)},
                           {"last_heartbeat_usec", integer_or_null(beat, beat == 0)},
                           {"round_trip_usec", integer_or_null(u->round_trip_usec, u->round_trip_usec == 0)},
                           {"heartbeats", integer(u->heartbeats)},
                           {"failures", integer(u->failures)},
                           {"memory_bytes", integer_or_null(memory, memory == 0)},
                           {"vcores", integer_or_null(u->vcores, memory == 0)}));
}

json_t *nm_messages_status(const struct nm_status *s, uint64_t boot_to_realtime_usec, bool redacted)
{
    json_t *node = node_contract(s);

    node = merge(node, node_policy(s, boot_to_realtime_usec));
    node = merge(node, node_health(s));
    node = merge(node, node_machine(s));
    return OBJECT({"node", node},
                  {"containers",
                   OBJECT({"guaranteed_running", integer(s->guaranteed_running)},
                          {"opportunistic_running", integer(s->opportunistic_running)},
                          {"paused", integer(s->paused)},
                          {"preparing", integer(s->preparing)},
                          {"queued", integer(s->queued)},
                          {"completed", integer(s->completed)})},
                  {"queue", OBJECT({"length", integer(s->queue_length)},
                                   {"max_length", integer(s->settings.queue_max_length)},
                                   {"upstream_limit", integer_or_null(s->queue_limit, s->queue_limit == UINT32_MAX)},
                                   {"hold", hold(s, redacted)})},
                  {"preemptions",
                   OBJECT({"paused", integer(s->counters.paused)},
                          {"resumed", integer(s->counters.resumed)},
                          {"killed", integer(s->counters.killed)},
                          {"reclaimed_bytes", integer(s->counters.reclaimed_bytes)},
                          {"running_reclaims", integer(s->counters.running_reclaims)})},
                  {"counters", counters(&s->counters)},
                  {"upstream", upstream(&s->upstream)});
}

/* ---- decisions, events, history ------------------------------------------------------------- */

/* Redacted: without the user who asked for it, who is named in the texts as well; so they are made
 * from a copy. */
json_t *nm_messages_decision(const struct nm_decision *d, bool redacted)
{
    _cleanup_free_ char *explanation = NULL;
    struct nm_decision shown = *d;
    char summary[512] = "";

    if (redacted)
        shown.by_user[0] = '\0';
    if (nm_decision_explain(&shown, &explanation) < 0)
        return NULL;
    (void)nm_decision_summary(&shown, summary, sizeof summary);
    return merge(nm_decision_to_json(&shown), OBJECT({"summary", nm_messages_string(summary)},
                                                     {"explanation",
                                                      nm_messages_string(explanation)}));
}

const char *nm_messages_event_kind_name(enum nm_event_kind k)
{
    return k == NM_EVENT_STATE ? "state" : k == NM_EVENT_DECISION ? "decision" : "node";
}

json_t *nm_messages_event(const struct nm_event_record *e)
{
    bool state = e->kind == NM_EVENT_STATE;

    assert(e->number > 0);
    return OBJECT({"number", integer(e->number)},
                  {"time_usec", integer(e->realtime_usec)},
                  {"kind", json_string(nm_messages_event_kind_name(e->kind))},
                  {"container", string_or_null(e->container_id)},
                  {"name", string_or_null(e->container_name)},
                  {"from", string_or_null(state ? nm_state_name(e->from) : NULL)},
                  {"to", string_or_null(state ? nm_state_name(e->to) : NULL)},
                  {"decision", integer_or_null(e->decision_number, e->decision_number == 0)},
                  {"text", string_or_null(e->text)});
}

static json_t *history_side(uint64_t memory_used, uint32_t cpu_used, uint64_t memory_allocated,
                            uint32_t cpu_allocated)
{
    return OBJECT({"memory_used_bytes", integer(memory_used)},
                  {"cpu_used_millicores", integer(cpu_used)},
                  {"memory_allocated_bytes", integer(memory_allocated)},
                  {"cpu_allocated_millicores", integer(cpu_allocated)});
}

json_t *nm_messages_history_point(const struct nm_history_point *p)
{
    json_t *guaranteed = history_side(
        p->guaranteed_memory_used_bytes, p->guaranteed_cpu_millicores,
        p->guaranteed_memory_allocated_bytes, p->guaranteed_cpu_allocated_millicores);
    json_t *opportunistic = history_side(
        p->opportunistic_memory_used_bytes, p->opportunistic_cpu_millicores,
        p->opportunistic_memory_allocated_bytes, p->opportunistic_cpu_allocated_millicores);

    return OBJECT({"time_usec", integer(p->realtime_usec)},
                  {"memory_used_bytes", integer(p->memory_used_bytes)},
                  {"cpu_used_millicores", integer(p->cpu_used_millicores)},
                  {"guaranteed", guaranteed},
                  {"opportunistic", opportunistic},
                  {"guaranteed_running", integer(p->guaranteed_running)},
                  {"opportunistic_running", integer(p->opportunistic_running)},
                  {"paused", integer(p->paused)},
                  {"queued", integer(p->queued)},
                  {"uplink_utilization", real((double)p->uplink_permille / 1000.0)},
                  {"sample_cost_usec", integer(p->sample_cost_usec)});
}
