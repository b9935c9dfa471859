/* SPDX-License-Identifier: Apache-2.0 */

/*
 * JSON of past events: decisions, events, and points of the history. The journal has another format for decisions
 * (decision-json.c), because an older nmd must be able to read the journal. Here members have the same names as in
 * other messages, times are CLOCK_REALTIME, and missing values are null.
 */

#include "rpc/local/messages.h"

#include <assert.h>

#include "agent/decision/decision.h"
#include "rpc/local/json-make.h"

/* ---- decisions ------------------------------------------------------------------------------ */

/* Converts the time of a phase to CLOCK_REALTIME. Phases are stored as CLOCK_BOOTTIME of the boot in which the decision
 * was made. The time of the decision itself is stored in both clocks. */
static json_t *phase(const struct nm_decision *d, uint64_t at_usec)
{
    uint64_t shift = nm_sub_u64(d->realtime_usec, d->decided_usec);

    return nm_make_integer_or_null(at_usec + shift, at_usec == 0 || d->decided_usec == 0);
}

static json_t *asked(const struct nm_decision *d, const struct nm_resources *r)
{
    uint64_t whole = d->capacity.cpu_millicores, vcores = d->capacity_vcores_milli;

    return nm_messages_amount(r, whole > 0 && vcores > 0 ? r->cpu_millicores * vcores / whole : r->cpu_millicores);
}

static json_t *candidates(const struct nm_decision *d)
{
    json_t *a = json_array();

    assert(d->n_candidates <= NM_DECISION_CANDIDATES_MAX);
    for (uint32_t i = 0; a && i < d->n_candidates; i++) {
        const struct nm_decision_candidate *c = &d->candidates[i];

        a = nm_make_append(a, NM_OBJECT({"id", nm_make_string(c->id)},
                                        {"name", nm_make_string_or_null(c->name)},
                                        {"started_usec", phase(d, c->started_usec)},
                                        {"use", nm_messages_resources(&c->use)},
                                        {"cpu_time_usec", nm_make_integer(c->cpu_usage_usec)},
                                        {"passed_over", json_string(nm_passed_over_name(c->passed_over))}));
    }
    return a;
}

static json_t *decision_what(const struct nm_decision *d)
{
    return NM_OBJECT({"number", nm_make_integer(d->number)},
                     {"time_usec", nm_make_integer(d->realtime_usec)},
                     {"kind", json_string(nm_decision_kind_name(d->kind))},
                     {"reason", json_string(nm_reason_name(d->reason))},
                     {"resource", json_string(nm_resource_name(d->resource))},
                     {"outcome", json_string(nm_decision_outcome_name(d->outcome))},
                     {"error", nm_make_string_or_null(d->error)},
                     {"durable", json_boolean(!d->is_unsaved)},
                     {"count", nm_make_integer(NM_MAX(d->n_times, 1u))},
                     {"first_time_usec", nm_make_integer(d->n_times > 1 ? d->first_realtime_usec : d->realtime_usec)},
                     {"container_id", nm_make_string_or_null(d->container_id)},
                     {"container_name", nm_make_string_or_null(d->container_name)},
                     {"execution_type", json_string(nm_execution_type_name(d->type))},
                     {"on_behalf_of_id", nm_make_string_or_null(d->on_behalf_of)},
                     {"by_user", nm_make_string_or_null(d->by_user)});
}

static json_t *decision_numbers(const struct nm_decision *d)
{
    bool refused = d->kind == NM_DECISION_REFUSE, stalled = d->reason == NM_REASON_GUARANTEED_STALLED;
    bool margin = d->margin_bytes > 0;
    struct nm_resources opportunistic = {
        nm_sub_u64(d->allocated.memory_bytes, d->allocated_guaranteed.memory_bytes),
        nm_sub_u64(d->allocated.cpu_millicores, d->allocated_guaranteed.cpu_millicores)};

    return NM_OBJECT({"request", asked(d, &d->request)},
                     {"used_by", NM_OBJECT({"containers", nm_messages_resources(&d->measured)},
                                           {"others", nm_messages_resources(&d->others)})},
                     {"reserved", nm_messages_resources(&d->reserved)},
                     {"used_or_reserved", nm_messages_resources(&d->used)},
                     {"allocated", NM_OBJECT({"guaranteed", asked(d, &d->allocated_guaranteed)},
                                             {"opportunistic", asked(d, &opportunistic)})},
                     {"queued", refused ? asked(d, &d->waiting) : json_null()},
                     {"capacity", asked(d, &d->capacity)},
                     {"over_allocation_threshold", nm_messages_fractions(&d->over_allocation_threshold)},
                     {"preemption_threshold", nm_messages_fractions(&d->preemption_threshold)},
                     {"consecutive_samples", nm_make_integer(d->consecutive_samples)},
                     {"cpu_samples", nm_make_integer(d->cpu_samples)},
                     {"queue_length", nm_make_integer(d->queue_length)},
                     {"queue_max_length",
                      nm_make_integer_or_null(d->queue_max_length, d->queue_max_length == UINT32_MAX)},
                     {"predicted", nm_messages_resources(&d->predicted)},
                     {"regained", d->regained_known ? nm_messages_resources(&d->regained) : json_null()},
                     {"stall", nm_make_permille_or_null(d->stall_permille, !stalled)},
                     {"stall_base", nm_make_permille_or_null(d->stall_base_permille, !stalled)},
                     {"margin_bytes", nm_make_integer_or_null(d->margin_bytes, !margin)},
                     {"margin_left_usec", nm_make_integer_or_null(d->margin_left_usec, !margin)},
                     {"margin_peak", nm_make_permille_or_null(d->margin_peak_permille, !margin)});
}

static json_t *decision_course(const struct nm_decision *d)
{
    return NM_OBJECT({"cause_usec", phase(d, d->cause_usec)}, {"decided_usec", phase(d, d->decided_usec)},
                     {"acted_usec", phase(d, d->acted_usec)}, {"effective_usec", phase(d, d->effective_usec)},
                     {"victim_order", json_string(nm_victim_order_name(d->victim_order))},
                     {"candidates_total", nm_make_integer(d->n_candidates_total)},
                     {"candidates", candidates(d)});
}

/* Returns a decision. `redacted` omits the user who requested it. The generated texts contain the user too, so they are
 * made from a redacted copy of the decision. */
json_t *nm_messages_decision(const struct nm_decision *d, bool redacted)
{
    _cleanup_free_ char *explanation = NULL;
    struct nm_decision shown = *d;
    char summary[512] = "";
    json_t *o;

    if (redacted)
        shown.by_user[0] = '\0';
    if (nm_decision_explain(&shown, &explanation) < 0)
        return NULL;
    (void)nm_decision_summary(&shown, summary, sizeof summary);
    o = nm_make_merge(decision_what(&shown), decision_numbers(&shown));
    o = nm_make_merge(o, decision_course(&shown));
    return nm_make_merge(o, NM_OBJECT({"summary", nm_make_string(summary)},
                                      {"explanation", nm_make_string(explanation)}));
}

/* ---- events ---------------------------------------------------------------------------------- */

const char *nm_messages_event_kind_name(enum nm_event_kind k)
{
    return k == NM_EVENT_STATE ? "state" : k == NM_EVENT_DECISION ? "decision" : "node";
}

json_t *nm_messages_event(const struct nm_event_record *e)
{
    bool state = e->kind == NM_EVENT_STATE, decision = e->kind == NM_EVENT_DECISION, of_container = *e->container_id;

    assert(e->number > 0);
    return NM_OBJECT({"number", nm_make_integer(e->number)},
                     {"time_usec", nm_make_integer(e->realtime_usec)},
                     {"kind", json_string(nm_messages_event_kind_name(e->kind))},
                     {"container_id", nm_make_string_or_null(e->container_id)},
                     {"container_name", nm_make_string_or_null(e->container_name)},
                     {"execution_type", nm_make_string_or_null(of_container ? nm_execution_type_name(e->type) : NULL)},
                     {"from", nm_make_string_or_null(state ? nm_state_name(e->from) : NULL)},
                     {"to", nm_make_string_or_null(state ? nm_state_name(e->to) : NULL)},
                     {"from_text", nm_make_string_or_null(state ? nm_state_word(e->from) : NULL)},
                     {"to_text", nm_make_string_or_null(state ? nm_state_word(e->to) : NULL)},
                     {"decision_number", nm_make_integer_or_null(e->decision_number, e->decision_number == 0)},
                     {"decision_kind",
                      nm_make_string_or_null(decision ? nm_decision_kind_name(e->decision_kind) : NULL)},
                     {"durable", json_boolean(!e->is_unsaved)},
                     {"text", nm_make_string_or_null(e->text)});
}

/* ---- applications ----------------------------------------------------------------------------- */

json_t *nm_messages_ended_app(const struct nm_ended_app *e, bool redacted)
{
    return NM_OBJECT({"app", nm_make_string(e->name)},
                     {"submitter_uid", nm_make_integer_or_null(e->submitter_uid, redacted)},
                     {"first_submitted_usec", nm_make_integer(e->first_submitted_usec)},
                     {"last_ended_usec", nm_make_integer(e->last_ended_usec)},
                     {"succeeded", nm_make_integer(e->succeeded)},
                     {"failed", nm_make_integer(e->failed)},
                     {"killed", nm_make_integer(e->killed)},
                     {"cpu_time_usec", nm_make_integer(e->cpu_time_usec)},
                     {"memory_peak_bytes", nm_make_integer(e->memory_peak_bytes)});
}

/* ---- history -------------------------------------------------------------------------------- */

static json_t *use(const struct nm_history_point *p, enum nm_history_part part)
{
    return nm_messages_resources(&(struct nm_resources){p->use[part].memory_bytes, p->use[part].cpu_millicores});
}

static json_t *pressure(const struct nm_history_point *p, enum nm_history_pressure which)
{
    return nm_make_real((double)p->pressure[which] / 10);
}

/* Converts a point of the history to the format that the status uses. */
json_t *nm_messages_history_point(const struct nm_history_point *p)
{
    return NM_OBJECT({"time_usec", nm_make_integer(p->realtime_usec)},
                     {"used_by", NM_OBJECT({"guaranteed", use(p, NM_HISTORY_USED_BY_GUARANTEED)},
                                           {"opportunistic", use(p, NM_HISTORY_USED_BY_OPPORTUNISTIC)},
                                           {"others", use(p, NM_HISTORY_USED_BY_OTHERS)})},
                     {"reserved", use(p, NM_HISTORY_RESERVED)},
                     {"allocated", NM_OBJECT({"guaranteed", use(p, NM_HISTORY_ALLOCATED_GUARANTEED)},
                                             {"opportunistic", use(p, NM_HISTORY_ALLOCATED_OPPORTUNISTIC)})},
                     {"pressure", NM_OBJECT({"memory_some_avg10", pressure(p, NM_HISTORY_MEMORY_SOME)},
                                            {"memory_full_avg10", pressure(p, NM_HISTORY_MEMORY_FULL)},
                                            {"cpu_some_avg10", pressure(p, NM_HISTORY_CPU_SOME)})},
                     {"guaranteed_running", nm_make_integer(p->guaranteed_running)},
                     {"opportunistic_running", nm_make_integer(p->opportunistic_running)},
                     {"paused", nm_make_integer(p->paused)},
                     {"queued", nm_make_integer(p->queued)},
                     {"uplink_utilization", nm_make_permille_or_null(p->uplink_permille, false)},
                     {"sample_cost_usec", nm_make_integer(p->sample_cost_usec)});
}
