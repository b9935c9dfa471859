/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Structs into JSON. json_pack() answers NULL when any of its parts is NULL and releases the others, so that running
 * out of memory needs no branch per member. What json_pack() can't do is take a string that isn't UTF-8: all foreign
 * text goes through nm_messages_string().
 */

#include "rpc/local/messages.h"

#include <inttypes.h>
#include <math.h>

#include "util/clock.h"

/* jansson's integers are signed. */
static json_t *integer(uint64_t v)
{
    return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

static json_t *integer_or_null(uint64_t v, bool is_null)
{
    return is_null ? json_null() : integer(v);
}

static json_t *real(double v)
{
    return json_real(isfinite(v) ? v : 0.0);
}

static json_t *string_or_null(const char *s)
{
    return s && *s ? nm_messages_string(s) : json_null();
}

/* ---- container -------------------------------------------------------------------------------------------- */

static json_t *string_array(char *const *v)
{
    json_t *a = json_array();

    for (; a && v && *v; v++)
        if (json_array_append_new(a, nm_messages_string(*v)) < 0) {
            json_decref(a);
            return NULL;
        }
    return a;
}

/* The part that says who and where, which readers over TCP don't get. */
static json_t *container_private(const struct nm_container *c)
{
    const struct nm_command *cmd = &c->command;

    return json_pack("{s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:b}", "command", string_array(cmd->argv), "workdir",
                     string_or_null(cmd->workdir), "user", string_or_null(cmd->user), "owner",
                     nm_messages_string(c->owner), "submitter_uid", (json_int_t)c->submitter_uid, "pid",
                     integer_or_null((uint64_t)c->pid, c->pid <= 0), "message", string_or_null(c->message),
                     "no_new_privs", cmd->no_new_privs);
}

static json_t *container_times(const struct nm_container *c, const struct nm_messages_container_extra *x)
{
    const struct nm_view *v = &c->view;
    bool paused = (v->state == NM_PAUSING || v->state == NM_PAUSED) && v->pause_deadline_usec != UINT64_MAX;

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "submitted_usec", integer(c->submitted_realtime_usec),
                     "started_usec", integer_or_null(c->started_realtime_usec, c->started_realtime_usec == 0),
                     "finished_usec", integer_or_null(c->finished_realtime_usec, c->finished_realtime_usec == 0),
                     "paused_usec", integer_or_null(v->paused_usec + x->boot_to_realtime_usec, !paused),
                     "pause_deadline_usec",
                     integer_or_null(v->pause_deadline_usec + x->boot_to_realtime_usec, !paused),
                     "min_runtime_usec", integer(v->min_runtime_usec), "expected_usec",
                     integer_or_null(v->expected_usec, v->expected_usec == 0));
}

static json_t *container_usage(const struct nm_container *c)
{
    const struct nm_view *v = &c->view;

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "memory_bytes", integer(v->request.memory_bytes),
                     "vcores", nm_messages_vcores(c->vcores_milli), "memory_used_bytes",
                     integer(v->measured.memory_bytes), "cpu_millicores", integer(v->measured.cpu_millicores),
                     "peak_memory_bytes", integer(c->memory_peak_bytes), "swap_bytes", integer(c->swap_bytes),
                     "cpu_usage_usec", integer(v->cpu_usage_usec), "oom_kills", integer(c->oom_kills));
}

/* exit_code stays null for what never ran: exit_reason says why it did not. */
static json_t *container_end(const struct nm_container *c)
{
    bool ended = c->view.state == NM_COMPLETED, ran = ended && c->exit_code >= 0;

    return json_pack("{s:o, s:o, s:o, s:o}", "exit_code", ran ? json_integer(c->exit_code) : json_null(),
                     "exit_signal", ran && c->exit_signal > 0 ? json_integer(c->exit_signal) : json_null(),
                     "exit_reason", ended ? string_or_null(nm_exit_reason_name(c->exit_reason)) : json_null(),
                     "kill_reason",
                     ended ? json_null() : string_or_null(nm_exit_reason_name(c->kill_reason)));
}

/* Moves the members of `from` into `o` and releases `from`. Returns o, or NULL with both released. */
static json_t *merge(json_t *o, json_t *from)
{
    int r = o && from ? json_object_update(o, from) : -1;

    json_decref(from);
    if (r < 0) {
        json_decref(o);
        return NULL;
    }
    return o;
}

json_t *nm_messages_container(const struct nm_container *c, const struct nm_messages_container_extra *x)
{
    const struct nm_view *v = &c->view;
    json_t *o = json_pack("{s:s, s:o, s:o, s:s, s:s, s:b, s:b, s:o, s:o}", "id", c->id, "name",
                          nm_messages_string(c->name), "app", nm_messages_string(c->app), "execution_type",
                          nm_execution_type_name(v->type), "state", nm_state_name(v->state), "exempt", v->exempt,
                          "paused_by_user", v->user_paused, "queue_position",
                          integer_or_null(x->queue_position, x->queue_position == 0), "hold",
                          x->hold == NM_REASON_NONE ? json_null() : json_string(nm_reason_name(x->hold)));

    o = merge(o, container_usage(c));
    o = merge(o, container_times(c, x));
    o = merge(o, container_end(c));
    return x->redacted ? o : merge(o, container_private(c));
}

/* ---- status ----------------------------------------------------------------------------------------------- */

static json_t *amount(uint64_t memory_bytes, uint64_t vcores_milli)
{
    return json_pack("{s:o, s:o}", "memory_bytes", integer(memory_bytes), "vcores",
                     nm_messages_vcores(vcores_milli));
}

static json_t *resources(const struct nm_resources *r)
{
    return json_pack("{s:o, s:o}", "memory_bytes", integer(r->memory_bytes), "cpu_millicores",
                     integer(r->cpu_millicores));
}

static json_t *fractions(const struct nm_fractions *f)
{
    return json_pack("{s:o, s:o}", "memory", real(f->memory), "cpu", real(f->cpu));
}

static json_t *notes(const struct nm_status *s)
{
    json_t *a = json_array();

    for (unsigned i = 0; a && i < s->n_notes; i++)
        if (json_array_append_new(a, nm_messages_string(s->notes[i])) < 0) {
            json_decref(a);
            return NULL;
        }
    return a;
}

static json_t *features(const struct nm_cgroup_backend *b)
{
    json_t *o = json_object();

    for (int i = 0; o && b && i < NM_CGROUP_FEATURE_COUNT; i++)
        if (json_object_set_new(o, nm_cgroup_feature_name((enum nm_cgroup_feature)i), json_boolean(b->feature[i])) < 0) {
            json_decref(o);
            return NULL;
        }
    return o;
}

static json_t *links(const struct nm_status *s)
{
    json_t *a = json_array();

    for (unsigned i = 0; a && i < s->n_links; i++) {
        const struct nm_link_sample *l = &s->links[i];
        json_t *o = json_pack("{s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "name", nm_messages_string(l->name),
                              "up", l->up, "uplink", l->uplink, "rx_bytes", integer(l->rx_bytes), "tx_bytes",
                              integer(l->tx_bytes), "rx_bytes_per_second", integer(l->rx_bytes_per_sec),
                              "tx_bytes_per_second", integer(l->tx_bytes_per_sec), "speed_mbit",
                              integer_or_null(l->speed_mbit, l->speed_mbit == 0), "utilization", real(l->utilization));
        if (json_array_append_new(a, o) < 0) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

/* The members of "node" that issue and clients rely on. */
static json_t *node_contract(const struct nm_status *s)
{
    const struct nm_resources *a = s->allocated;

    return json_pack(
        "{s:s, s:s, s:o, s:{s:o, s:o}, s:o, s:o, s:o, s:{s:o, s:o, s:o}}", "state", nm_node_state_name(s->state),
        "backend", s->backend ? s->backend->ops->name : "none", "capacity",
        amount(s->capacity.memory_bytes, s->capacity_vcores_milli), "allocated", "guaranteed",
        amount(a[NM_GUARANTEED].memory_bytes, s->allocated_vcores_milli[NM_GUARANTEED]), "opportunistic",
        amount(a[NM_OPPORTUNISTIC].memory_bytes, s->allocated_vcores_milli[NM_OPPORTUNISTIC]), "utilization",
        fractions(&s->utilization), "over_allocation_threshold", fractions(&s->settings.over_allocation_threshold),
        "preemption_threshold", fractions(&s->settings.preemption_threshold), "sample", "age_usec",
        integer_or_null(s->sample_age_usec, s->sample_age_usec == UINT64_MAX), "period_usec",
        integer(s->sample_period_usec), "cost_usec", integer(s->sample_cost_usec));
}

/* What the machine itself says. */
static json_t *node_machine(const struct nm_status *s)
{
    const struct nm_node_sample *n = &s->node;

    return json_pack(
        "{s:{s:o, s:o, s:o, s:o, s:i, s:i}, s:{s:o, s:o, s:o}, s:o}", "machine", "memory_total_bytes",
        integer(n->memory_total_bytes), "memory_available_bytes", integer(n->memory_available_bytes),
        "swap_total_bytes", integer(n->swap_total_bytes), "swap_free_bytes", integer(n->swap_free_bytes), "cpus",
        (int)n->n_cpus, "cpu_busy_millicores", (int)n->cpu_busy_millicores, "pressure", "memory_some_avg10",
        real(n->memory_pressure_some_avg10), "memory_full_avg10", real(n->memory_pressure_full_avg10),
        "cpu_some_avg10", real(n->cpu_pressure_some_avg10), "links", links(s));
}

static json_t *node_more(const struct nm_status *s, uint64_t boot_to_realtime_usec)
{
    const struct nm_policy_settings *p = &s->settings;
    bool squeezed = s->squeeze_millicores != NM_NO_SQUEEZE, broken = s->breaker_until_usec != 0;

    return json_pack(
        "{s:o, s:b, s:b, s:o, s:b, s:o, s:o, s:o, s:o, s:{s:o, s:o}, s:b, s:b, s:s, s:s, s:o, s:o, s:o, "
        "s:{s:o, s:o}}",
        "slice", s->backend ? string_or_null(s->backend->slice) : json_null(), "user_manager",
        s->backend && s->backend->user_manager, "drained", s->drained, "drain_deadline_usec",
        integer_or_null(s->drain_deadline_realtime_usec, s->drain_deadline_realtime_usec == 0), "healthy",
        s->healthy, "health_reason", string_or_null(s->health_reason), "notes", notes(s), "features",
        features(s->backend), "used", resources(&s->used), "used_by", "guaranteed",
        resources(&s->used_by[NM_GUARANTEED]), "opportunistic", resources(&s->used_by[NM_OPPORTUNISTIC]),
        "over_allocation", p->over_allocation, "pause", p->pause_enabled, "victim_order",
        nm_victim_order_name(p->victim_order), "queue_order", nm_queue_order_name(p->queue_order),
        "squeeze_millicores", integer_or_null(s->squeeze_millicores, !squeezed), "breaker_until_usec",
        integer_or_null(s->breaker_until_usec + boot_to_realtime_usec, !broken), "started_usec",
        integer(s->started_realtime_usec), "own", "rss_bytes", integer(s->own_rss_bytes), "cpu_usec",
        integer(s->own_cpu_usec));
}

static json_t *counters(const struct nm_counters *c)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "submitted",
                     integer(c->submitted), "admitted", integer(c->admitted), "refused", integer(c->refused),
                     "completed", integer(c->completed), "shed", integer(c->shed), "kernel_oom_kills",
                     integer(c->kernel_oom_kills), "wasted_cpu_usec", integer(c->wasted_cpu_usec), "samples",
                     integer(c->samples), "late_samples", integer(c->late_samples), "pressure_events",
                     integer(c->pressure_events), "drift_repairs", integer(c->drift_repairs), "unkillable",
                     integer(c->unkillable));
}

json_t *nm_messages_status(const struct nm_status *s, uint64_t boot_to_realtime_usec, bool redacted)
{
    json_t *node = node_contract(s);
    json_t *hold = s->hold == NM_REASON_NONE
                       ? json_null()
                       : json_pack("{s:s, s:o}", "reason", nm_reason_name(s->hold), "container",
                                   redacted ? json_null() : string_or_null(s->hold_id));

    node = merge(node, node_more(s, boot_to_realtime_usec));
    node = merge(node, node_machine(s));
    return json_pack(
        "{s:o, s:{s:I, s:I, s:I, s:I, s:I}, s:{s:I, s:I, s:o}, s:{s:o, s:o, s:o, s:o}, s:o, s:{s:s, s:s}}", "node",
        node, "containers", "guaranteed_running", (json_int_t)s->guaranteed_running, "opportunistic_running",
        (json_int_t)s->opportunistic_running, "paused", (json_int_t)s->paused, "queued", (json_int_t)s->queued,
        "completed", (json_int_t)s->completed, "queue", "length", (json_int_t)s->queue_length, "max_length",
        (json_int_t)s->settings.queue_max_length, "hold", hold, "preemptions", "paused",
        integer(s->counters.paused), "resumed", integer(s->counters.resumed), "killed",
        integer(s->counters.killed), "reclaimed_bytes", integer(s->counters.reclaimed_bytes), "counters",
        counters(&s->counters), "upstream", "kind", "none", "state", "none");
}

/* ---- decisions, events, history --------------------------------------------------------------------------- */

json_t *nm_messages_decision(const struct nm_decision *d, bool redacted)
{
    _cleanup_free_ char *explanation = NULL;
    char summary[512] = "";
    struct nm_decision shown = *d;
    json_t *o, *texts;

    if (redacted)
        shown.by_user[0] = '\0';
    if (nm_decision_explain(&shown, &explanation) < 0)
        return NULL;
    o = nm_decision_to_json(&shown);
    texts = json_pack("{s:o, s:o}", "summary",
                      nm_messages_string(nm_decision_summary(&shown, summary, sizeof summary)), "explanation",
                      nm_messages_string(explanation));
    return merge(o, texts);
}

const char *nm_messages_event_kind_name(enum nm_event_kind k)
{
    return k == NM_EVENT_STATE ? "state" : k == NM_EVENT_DECISION ? "decision" : "node";
}

json_t *nm_messages_event(const struct nm_event_record *e)
{
    bool state = e->kind == NM_EVENT_STATE;

    return json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "number", integer(e->number), "time_usec",
                     integer(e->realtime_usec), "kind", nm_messages_event_kind_name(e->kind), "container",
                     string_or_null(e->container_id), "name", string_or_null(e->container_name), "from",
                     state ? json_string(nm_state_name(e->from)) : json_null(), "to",
                     state ? json_string(nm_state_name(e->to)) : json_null(), "decision",
                     integer_or_null(e->decision_number, e->decision_number == 0), "text",
                     string_or_null(e->text));
}

static json_t *history_side(uint64_t memory_used, uint32_t cpu_used, uint64_t memory_allocated,
                            uint32_t cpu_allocated)
{
    return json_pack("{s:o, s:I, s:o, s:I}", "memory_used_bytes", integer(memory_used), "cpu_used_millicores",
                     (json_int_t)cpu_used, "memory_allocated_bytes", integer(memory_allocated),
                     "cpu_allocated_millicores", (json_int_t)cpu_allocated);
}

static json_t *history_point(const struct nm_history_point *p)
{
    return json_pack(
        "{s:o, s:o, s:I, s:o, s:o, s:i, s:i, s:i, s:i, s:o, s:I}", "time_usec", integer(p->realtime_usec),
        "memory_used_bytes", integer(p->memory_used_bytes), "cpu_used_millicores",
        (json_int_t)p->cpu_used_millicores, "guaranteed",
        history_side(p->guaranteed_memory_used_bytes, p->guaranteed_cpu_millicores,
                     p->guaranteed_memory_allocated_bytes, p->guaranteed_cpu_allocated_millicores),
        "opportunistic",
        history_side(p->opportunistic_memory_used_bytes, p->opportunistic_cpu_millicores,
                     p->opportunistic_memory_allocated_bytes, p->opportunistic_cpu_allocated_millicores),
        "guaranteed_running", (int)p->guaranteed_running, "opportunistic_running", (int)p->opportunistic_running,
        "paused", (int)p->paused, "queued", (int)p->queued, "uplink_utilization",
        real((double)p->uplink_permille / 1000.0), "sample_cost_usec", (json_int_t)p->sample_cost_usec);
}

json_t *nm_messages_history(const struct nm_history *h, uint64_t period_usec)
{
    unsigned n = h ? nm_history_n(h) : 0;
    json_t *a = json_array();

    for (unsigned i = 0; a && i < n; i++)
        if (json_array_append_new(a, history_point(nm_history_get(h, i))) < 0) {
            json_decref(a);
            return NULL;
        }
    return json_pack("{s:o, s:o}", "period_usec", integer(period_usec), "points", a);
}
