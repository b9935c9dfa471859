/* SPDX-License-Identifier: Apache-2.0 */

/* Converts containers and the node's status to JSON. messages-record.c converts past events. */

#include "rpc/local/messages.h"

#include "cgroup/cgroup.h"
#include "rpc/local/json-make.h"

#define COMMAND_HEAD_BYTES 120

/* ---- container ------------------------------------------------------------------------------ */

static json_t *string_array(char *const *v)
{
    json_t *a = json_array();

    for (; a && v && *v; v++)
        a = nm_make_append(a, nm_make_string(*v));
    return a;
}

/* Returns the beginning of a command, for lists. A list may have hundreds of commands with half a megabyte each. */
static json_t *command_head(char *const *argv)
{
    json_t *a = json_array();
    size_t len = 0;

    for (; a && argv && *argv; argv++) {
        char word[COMMAND_HEAD_BYTES];
        nm_messages_shorten(word, sizeof word, *argv);
        len += strlen(word) + 1;
        if (len > sizeof word && json_array_size(a) > 0)
            return nm_make_append(a, json_string("..."));
        a = nm_make_append(a, nm_make_string(word));
    }
    return a;
}

static json_t *command(const struct nm_container *c, bool listed)
{
    const struct nm_command *cmd = &c->command;

    if (listed)
        return NM_OBJECT({"command_head", command_head(cmd->argv)});
    return NM_OBJECT({"command", string_array(cmd->argv)}, {"workdir", nm_make_string_or_null(cmd->workdir)},
                  {"log_dir", nm_make_string_or_null(c->log_dir)});
}

/* Returns the private members, such as user and pid. Readers over TCP don't get these members. The environment is never
 * included, because it often contains secrets. */
static json_t *container_private(const struct nm_container *c, bool listed)
{
    const struct nm_command *cmd = &c->command;
    bool has_pid = c->pid > 0 && c->view.state != NM_COMPLETED; /* after the end of the container, another process may
                                                                   have the same pid */

    return nm_make_merge(command(c, listed),
                 NM_OBJECT({"user", nm_make_string_or_null(cmd->user)},
                        {"owner", nm_make_string(c->owner)},
                        {"submitter_uid", nm_make_integer(c->submitter_uid)},
                        {"pid", nm_make_integer_or_null((uint64_t)c->pid, !has_pid)},
                        {"message", nm_make_string_or_null(c->message)},
                        {"progress", nm_make_string_or_null(c->progress)},
                        {"no_new_privs", json_boolean(cmd->no_new_privs)}));
}

/* Converts deadlines to the time of day. nmd stores deadlines as time since boot, because that clock can't be set. */
static json_t *container_times(const struct nm_container *c,
                               const struct nm_messages_container_extra *x)
{
    const struct nm_policy_container *v = &c->view;
    bool paused = (v->state == NM_PAUSING || v->state == NM_PAUSED) &&
                  v->pause_deadline_usec != UINT64_MAX;
    uint64_t started = c->started_realtime_usec, finished = c->finished_realtime_usec;
    uint64_t shift = x->boot_to_realtime_usec;

    return NM_OBJECT({"submitted_usec", nm_make_integer(c->submitted_realtime_usec)},
                  {"started_usec", nm_make_integer_or_null(started, started == 0)},
                  {"finished_usec", nm_make_integer_or_null(finished, finished == 0)},
                  {"paused_usec", nm_make_integer_or_null(v->paused_usec + shift, !paused)},
                  {"pause_deadline_usec", nm_make_integer_or_null(v->pause_deadline_usec + shift, !paused)},
                  {"min_runtime_usec", nm_make_integer(v->min_runtime_usec)},
                  {"expected_usec", nm_make_integer_or_null(v->expected_usec, v->expected_usec == 0)});
}

static json_t *container_usage(const struct nm_container *c)
{
    const struct nm_policy_container *v = &c->view;

    return NM_OBJECT({"memory_bytes", nm_make_integer(v->request.memory_bytes)},
                  {"vcores", nm_messages_vcores(c->vcores_milli)},
                  {"cpu_request_millicores", nm_make_integer(v->request.cpu_millicores)},
                  {"memory_used_bytes", nm_make_integer(v->measured.memory_bytes)},
                  {"cpu_used_millicores", nm_make_integer(v->measured.cpu_millicores)},
                  {"memory_peak_bytes", nm_make_integer(c->memory_peak_bytes)},
                  {"swap_bytes", nm_make_integer(c->swap_bytes)},
                  {"cpu_time_usec", nm_make_integer(v->cpu_usage_usec)},
                  {"oom_kills", nm_make_integer(c->oom_kills)});
}

/* For a container that never ran, exit_code is null, and exit_reason contains the reason. */
static json_t *container_end(const struct nm_container *c)
{
    bool ended = c->view.state == NM_COMPLETED, ran = ended && c->exit_code >= 0;
    bool signaled = ran && c->exit_signal > 0, caused = c->exit_cause != NM_REASON_NONE;
    const char *reason = ended ? nm_exit_reason_name(c->exit_reason) : NULL;
    const char *kill_reason = ended ? NULL : nm_exit_reason_name(c->kill_reason);

    return NM_OBJECT({"exit_code", ran ? json_integer(c->exit_code) : json_null()},
                  {"exit_signal", signaled ? json_integer(c->exit_signal) : json_null()},
                  {"exit_reason", nm_make_string_or_null(reason)},
                  {"kill_reason", nm_make_string_or_null(kill_reason)},
                  {"exit_cause", caused ? json_string(nm_reason_name(c->exit_cause)) : json_null()},
                  {"exit_decision_number", nm_make_integer_or_null(c->exit_decision, c->exit_decision == 0)},
                  {"owner_code", c->owner_code ? json_integer(c->owner_code) : json_null()},
                  {"keep_result", json_boolean(c->keep_result)});
}

json_t *nm_messages_container(const struct nm_container *c,
                              const struct nm_messages_container_extra *x)
{
    const struct nm_policy_container *v = &c->view;
    bool held = x->queue_reason != NM_REASON_NONE;
    char text[NM_STATE_TEXT_SIZE];
    json_t *o = NM_OBJECT({"id", nm_make_string(c->id)},
                       {"number", nm_make_integer(v->seq)},
                       {"name", nm_make_string_or_null(c->name)},
                       {"app", nm_make_string_or_null(c->app)},
                       {"execution_type", json_string(nm_execution_type_name(v->type))},
                       {"state", json_string(nm_state_name(v->state))},
                       {"state_text", json_string(nm_container_state_text(c, text, sizeof text))},
                       {"exempt", json_boolean(v->exempt)},
                       {"paused_by_user", json_boolean(v->user_paused)},
                       {"queue_position",
                        nm_make_integer_or_null(x->queue_position, x->queue_position == 0)},
                       {"hold", nm_make_string_or_null(held ? nm_reason_name(x->queue_reason) : NULL)},
                       {"hold_text", nm_make_string_or_null(held ? nm_reason_text(x->queue_reason) : NULL)});

    o = nm_make_merge(o, container_usage(c));
    o = nm_make_merge(o, container_times(c, x));
    o = nm_make_merge(o, container_end(c));
    return x->redacted ? o : nm_make_merge(o, container_private(c, x->listed));
}

/* ---- status --------------------------------------------------------------------------------- */

json_t *nm_messages_amount(const struct nm_resources *r, uint64_t vcores_milli)
{
    return NM_OBJECT({"memory_bytes", nm_make_integer(r->memory_bytes)},
                  {"vcores", nm_messages_vcores(vcores_milli)},
                  {"cpu_millicores", nm_make_integer(r->cpu_millicores)});
}

json_t *nm_messages_resources(const struct nm_resources *r)
{
    return NM_OBJECT({"memory_bytes", nm_make_integer(r->memory_bytes)},
                  {"cpu_millicores", nm_make_integer(r->cpu_millicores)});
}

json_t *nm_messages_fractions(const struct nm_fractions *f)
{
    return NM_OBJECT({"memory", nm_make_real(f->memory)}, {"cpu", nm_make_real(f->cpu)});
}

static json_t *by_type(json_t *guaranteed, json_t *opportunistic)
{
    return NM_OBJECT({"guaranteed", guaranteed}, {"opportunistic", opportunistic});
}

static json_t *notes(const struct nm_status *s)
{
    json_t *a = json_array();

    for (unsigned i = 0; a && i < s->n_notes; i++)
        a = nm_make_append(a, nm_make_string(s->notes[i]));
    return a;
}

static json_t *features(const struct nm_cgroup_backend *b)
{
    json_t *o = json_object();

    for (int i = 0; o && b && i < NM_CGROUP_FEATURE_COUNT; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "%s", nm_cgroup_feature_name((enum nm_cgroup_feature)i));
        for (char *space = name; (space = strchr(space, ' '));)
            *space = '_'; /* other keys have '_' instead of blanks, too */
        o = nm_make_merge(o, NM_OBJECT({name, json_boolean(b->feature[i])}));
    }
    return o;
}

static json_t *links(const struct nm_status *s)
{
    json_t *a = json_array();

    for (unsigned i = 0; a && i < s->n_links; i++) {
        const struct nm_link_sample *l = &s->links[i];
        a = nm_make_append(a, NM_OBJECT({"name", nm_make_string(l->name)},
                             {"up", json_boolean(l->up)},
                             {"uplink", json_boolean(l->uplink)},
                             {"rx_bytes", nm_make_integer(l->rx_bytes)},
                             {"tx_bytes", nm_make_integer(l->tx_bytes)},
                             {"rx_bytes_per_second", nm_make_integer(l->rx_bytes_per_sec)},
                             {"tx_bytes_per_second", nm_make_integer(l->tx_bytes_per_sec)},
                             {"speed_mbit", nm_make_integer_or_null(l->speed_mbit, l->speed_mbit == 0)},
                             {"utilization", nm_make_real(l->utilization)}));
    }
    return a;
}

/* Returns the members of "node" that are part of the stable interface. */
static json_t *node_contract(const struct nm_status *s)
{
    const struct nm_resources *a = s->allocated;
    const uint32_t *v = s->allocated_vcores_milli;
    uint64_t age = s->sample_age_usec;

    return NM_OBJECT(
        {"host", nm_make_string_or_null(s->host)},
        {"state", json_string(nm_node_state_name(s->state))},
        {"backend", json_string(s->backend ? s->backend->ops->name : "none")},
        {"capacity", nm_messages_amount(&s->capacity, s->capacity_vcores_milli)},
        {"offered", nm_messages_amount(&s->offered, s->offered_vcores_milli)},
        {"configured", nm_messages_amount(&s->configured, s->configured_vcores_milli)},
        {"allocated",
         by_type(nm_messages_amount(&a[NM_GUARANTEED], v[NM_GUARANTEED]),
                 nm_messages_amount(&a[NM_OPPORTUNISTIC], v[NM_OPPORTUNISTIC]))},
        {"utilization", nm_messages_fractions(&s->utilization)},
        {"over_allocation_threshold", nm_messages_fractions(&s->settings.over_allocation_threshold)},
        {"preemption_threshold", nm_messages_fractions(&s->settings.preemption_threshold)},
        {"sample", NM_OBJECT({"age_usec", nm_make_integer_or_null(age, age == UINT64_MAX)},
                          {"period_usec", nm_make_integer(s->sample_period_usec)},
                          {"cost_usec", nm_make_integer(s->sample_cost_usec)})});
}

static json_t *node_policy(const struct nm_status *s, uint64_t boot_to_realtime_usec)
{
    const struct nm_policy_settings *p = &s->settings;
    uint64_t squeeze = s->squeeze_millicores, breaker = s->breaker_until_usec;
    uint64_t margin = s->surge_margin_until_usec;

    return NM_OBJECT({"used_by", NM_OBJECT({"guaranteed", nm_messages_resources(&s->used_by[NM_GUARANTEED])},
                                     {"opportunistic", nm_messages_resources(&s->used_by[NM_OPPORTUNISTIC])},
                                     {"others", nm_messages_resources(&s->used_by_others)})},
                  {"reserved", nm_messages_resources(&s->reserved)},
                  {"warmup_usec", nm_make_integer(p->warmup_usec)},
                  {"used_or_reserved", nm_messages_resources(&s->used)},
                  {"over_allocation", json_boolean(p->over_allocation)},
                  {"pause", json_boolean(p->pause_enabled)},
                  {"victim_order", json_string(nm_victim_order_name(p->victim_order))},
                  {"queue_order", json_string(nm_queue_order_name(p->queue_order))},
                  {"squeeze_millicores", nm_make_integer_or_null(squeeze, squeeze == NM_NO_SQUEEZE)},
                  {"breaker_until_usec",
                   nm_make_integer_or_null(breaker + boot_to_realtime_usec, breaker == 0)},
                  {"surge_margin_until_usec",
                   nm_make_integer_or_null(margin + boot_to_realtime_usec, margin == 0)},
                  {"preemption_hold_text", nm_make_string_or_null(s->over_beta)});
}

/* Returns the members of "node" that help to find the cause of a problem, such as features, health and nmd's own
 * use. */
static json_t *node_health(const struct nm_status *s)
{
    const struct nm_cgroup_backend *b = s->backend;
    uint64_t deadline = s->drain_deadline_realtime_usec, removable = s->removable_since_realtime_usec;

    return NM_OBJECT({"slice", nm_make_string_or_null(b ? b->slice : NULL)},
                  {"user_manager", json_boolean(b && b->user_manager)},
                  {"features", features(b)},
                  {"notes", notes(s)},
                  {"healthy", json_boolean(s->healthy)},
                  {"health_reason", nm_make_string_or_null(s->health_reason)},
                  {"drained", json_boolean(s->drained)},
                  {"needs_restart", nm_make_string_or_null(s->restart_keys)},
                  {"drain_until_restart", json_boolean(s->drain_until_restart)},
                  {"drain_deadline_usec", nm_make_integer_or_null(deadline, deadline == 0)},
                  {"removable_since_usec", nm_make_integer_or_null(removable, removable == 0)},
                  {"started_usec", nm_make_integer(s->started_realtime_usec)},
                  {"own", NM_OBJECT({"rss_bytes", nm_make_integer(s->own_rss_bytes)},
                                 {"cpu_time_usec", nm_make_integer(s->own_cpu_usec)})});
}

/* Returns the members of "node" with measurements of the machine. */
static json_t *node_machine(const struct nm_status *s)
{
    const struct nm_node_sample *n = &s->node;

    return NM_OBJECT(
        {"machine", NM_OBJECT({"memory_total_bytes", nm_make_integer(n->memory_total_bytes)},
                           {"memory_available_bytes", nm_make_integer(n->memory_available_bytes)},
                           {"hugetlb_bytes", nm_make_integer(n->hugetlb_bytes)},
                           {"swap_total_bytes", nm_make_integer(n->swap_total_bytes)},
                           {"swap_free_bytes", nm_make_integer(n->swap_free_bytes)},
                           {"cpus", nm_make_integer(n->n_cpus)},
                           {"cpu_busy_millicores", nm_make_integer(n->cpu_busy_millicores)})},
        {"pressure", NM_OBJECT({"memory_some_avg10", nm_make_real(n->memory_pressure_some_avg10)},
                            {"memory_full_avg10", nm_make_real(n->memory_pressure_full_avg10)},
                            {"cpu_some_avg10", nm_make_real(n->cpu_pressure_some_avg10)})},
        {"links", links(s)});
}

static json_t *counters(const struct nm_counters *c)
{
    return NM_OBJECT({"submitted", nm_make_integer(c->submitted)},
                  {"admitted", nm_make_integer(c->admitted)},
                  {"refused", nm_make_integer(c->refused)},
                  {"completed", nm_make_integer(c->completed)},
                  {"shed", nm_make_integer(c->shed)},
                  {"kernel_oom_kills", nm_make_integer(c->kernel_oom_kills)},
                  {"wasted_cpu_time_usec", nm_make_integer(c->wasted_cpu_usec)},
                  {"samples", nm_make_integer(c->samples)},
                  {"late_samples", nm_make_integer(c->late_samples)},
                  {"pressure_events", nm_make_integer(c->pressure_events)},
                  {"drift_repairs", nm_make_integer(c->drift_repairs)},
                  {"unkillable", nm_make_integer(c->unkillable)});
}

/* Returns the reason why the head of the queue waits. Readers of redacted messages don't get the container's id. */
static json_t *queue_reason(const struct nm_status *s, bool redacted)
{
    if (s->queue_reason == NM_REASON_NONE)
        return json_null();
    return NM_OBJECT({"reason", json_string(nm_reason_name(s->queue_reason))},
                  {"text", nm_make_string(nm_reason_text(s->queue_reason))},
                  {"container_id", nm_make_string_or_null(redacted ? NULL : s->queue_head_id)});
}

/* details: the upstream's own members (nm_upstream_ops.details). This function takes over the reference. */
static json_t *upstream(const struct nm_upstream *u, json_t *details)
{
    uint64_t beat = u->last_heartbeat_realtime_usec;

    if (!u->kind || nm_streq(u->kind, "none")) {
        json_decref(details);
        return json_null();
    }
    return nm_make_merge(
        NM_OBJECT({"kind", json_string(u->kind)},
                  {"state", json_string(u->state)},
                  {"address", nm_make_string_or_null(u->address)},
                  {"node", nm_make_string_or_null(u->node)},
                  {"trouble", nm_make_string_or_null(u->trouble)},
                  {"unhealthy", nm_make_string_or_null(u->unhealthy)},
                  {"last_heartbeat_usec", nm_make_integer_or_null(beat, beat == 0)},
                  {"round_trip_usec", nm_make_integer_or_null(u->round_trip_usec, u->round_trip_usec == 0)},
                  {"heartbeats", nm_make_integer(u->heartbeats)},
                  {"failures", nm_make_integer(u->failures)},
                  {"memory_bytes", nm_make_integer_or_null(u->memory_bytes, !u->sized)},
                  {"vcores", nm_make_integer_or_null(u->vcores, !u->sized)}),
        details);
}

json_t *nm_messages_status(const struct nm_status *s, uint64_t boot_to_realtime_usec, bool redacted, json_t *details)
{
    json_t *node = node_contract(s);

    node = nm_make_merge(node, node_policy(s, boot_to_realtime_usec));
    node = nm_make_merge(node, node_health(s));
    node = nm_make_merge(node, node_machine(s));
    return NM_OBJECT({"node", node},
                  {"containers",
                   NM_OBJECT({"guaranteed_running", nm_make_integer(s->guaranteed_running)},
                          {"opportunistic_running", nm_make_integer(s->opportunistic_running)},
                          {"paused", nm_make_integer(s->paused)},
                          {"preparing", nm_make_integer(s->preparing)},
                          {"queued", nm_make_integer(s->queued)},
                          {"completed", nm_make_integer(s->completed)})},
                  {"queue", NM_OBJECT({"length", nm_make_integer(s->queue_length)},
                                   {"max_length", nm_make_integer(s->settings.queue_max_length)},
                                   {"upstream_limit",
                                    nm_make_integer_or_null(s->queue_limit, s->queue_limit == UINT32_MAX)},
                                   {"hold", queue_reason(s, redacted)})},
                  {"preemptions",
                   NM_OBJECT({"paused", nm_make_integer(s->counters.paused)},
                          {"resumed", nm_make_integer(s->counters.resumed)},
                          {"killed", nm_make_integer(s->counters.killed)},
                          {"reclaimed_bytes", nm_make_integer(s->counters.reclaimed_bytes)},
                          {"running_reclaims", nm_make_integer(s->counters.running_reclaims)})},
                  {"counters", counters(&s->counters)},
                  {"upstream", upstream(&s->upstream, details)});
}
