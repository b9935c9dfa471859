/* SPDX-License-Identifier: Apache-2.0 */

/* Computes the settings from the configuration and the node's size: at the start, after a reload, and when the node
 * changes. */

#include "agent/node/node-settings.h"

#include <assert.h>

#include "agent/node/cgroups.h"
#include "agent/node/sampling.h"
#include "agent/problem.h"
#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "agent/journal/journal.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/parse.h"

/* The configuration file, and the size of the node for which the settings were computed. */
struct nm_settings_basis {
    char *config_path;
    bool config_must_exist;
    const struct nm_config_default *config_defaults;
    struct nm_config *at_start; /* configuration read at the start, still used for keys that need a restart; NULL: it
                                   is m->config */
    uint64_t memory_bytes, usec; /* the node's memory, and when the settings were computed */
    uint32_t cpus;
};

struct nm_settings_basis *nm_settings_basis_new(const struct nm_manager_params *p)
{
    struct nm_settings_basis *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->config_must_exist = p->config_must_exist;
    b->config_defaults = p->config_defaults;
    b->config_path = p->config_path ? strdup(p->config_path) : NULL;
    return p->config_path && !b->config_path ? nm_settings_basis_free(b) : b;
}

struct nm_settings_basis *nm_settings_basis_free(struct nm_settings_basis *b)
{
    if (!b)
        return NULL;
    if (b->at_start)
        nm_config_free(b->at_start);
    free(b->config_path);
    free(b);
    return NULL;
}

/* Notes the node for which the settings were computed. */
static void note_node(struct nm_manager *m)
{
    struct nm_settings_basis *b = m->settings_basis;

    b->memory_bytes = m->sampled.node.memory_total_bytes;
    b->cpus = m->sampled.node.n_cpus;
    b->usec = nm_now_usec();
}

static void replace_config(struct nm_manager *m, struct nm_config *c)
{
    if (m->config != c && m->settings_basis->at_start)
        nm_config_free(m->config);
    else if (m->config != c)
        m->settings_basis->at_start = m->config;
    m->config = c;
}

int nm_settings_resettle(struct nm_manager *m, struct nm_config *c, char **ret_message)
{
    struct nm_policy_settings s;
    bool period_changed, history_changed, pressure_changed;
    int r = nm_config_policy_settings(c, &m->sampled.node, m->backend, &s, ret_message);

    assert(c && m->backend);
    if (r < 0)
        return r;
    if (m->config && m->config != c) {
        c->wanted_memory_bytes = m->config->wanted_memory_bytes;
        c->wanted_vcores = m->config->wanted_vcores;
        r = nm_config_policy_settings(c, &m->sampled.node, m->backend, &s, ret_message);
        if (r < 0)
            return r;
    }
    period_changed = m->config && m->config->period_usec != c->period_usec;
    history_changed = m->config && m->config->history_usec != c->history_usec;
    pressure_changed = m->config && (m->config->pressure_stall_usec != c->pressure_stall_usec ||
                                     m->config->pressure_window_usec != c->pressure_window_usec);
    replace_config(m, c);
    m->settings = s;
    note_node(m);
    m->round.shed_due = true;
    if (m->saved_history && history_changed)
        nm_saved_history_set_span(m->saved_history, c->history_usec);
    if (m->timers.sample && period_changed) {
        m->timers.sample_due_usec = nm_now_usec() + c->period_usec;
        m->timers.is_idle = false;
        (void)sd_event_source_set_time(m->timers.sample, m->timers.sample_due_usec);
        (void)sd_event_source_set_enabled(m->timers.sample, SD_EVENT_ONESHOT);
    }
    if (m->timers.sample && pressure_changed)
        nm_pressure_watch(m);
    return 0;
}

/* Sets the limits of all containers again, since CPU weights are relative to the capacity. */
static void refresh_containers(struct nm_manager *m)
{
    for (size_t i = 0; i < m->live.n; i++)
        if (m->live.all[i]->cg || nm_run_phase_is_creating(m->live.all[i]->phase))
            nm_limits_apply(m->live.all[i]);
}

static void refresh_limits(struct nm_manager *m)
{
    nm_slice_set_capacity(m);
    nm_helper_follow(m);
    refresh_containers(m);
}

/* ---- vcores ---------------------------------------------------------------- */

bool nm_settings_scale(const struct nm_manager *m, struct nm_container *c)
{
    uint64_t millicores = nm_settings_vcore_millicores(m->config, &m->sampled.node, c->vcores_milli);

    if (c->vcores_milli == 0 || c->view.request.cpu_millicores == millicores)
        return false;
    c->view.request.cpu_millicores = millicores;
    return true;
}

/* Converts the vcores of all requests into millicores again. Container snapshots are not rewritten, since nmd also
 * converts the vcores when it reads a snapshot. */
static bool scale_requests(struct nm_manager *m)
{
    bool any = false;

    (void)nm_store_begin(m->store);
    for (size_t i = 0; i < m->live.n; i++)
        if (nm_settings_scale(m, m->live.all[i]->c)) {
            any = true;
            (void)nm_persist_journal(m->live.all[i]);
        }
    nm_record_store_result(m, nm_store_commit(m->store));
    return any;
}

/* ---- a node that changes ------------------------------------------------- */

/* A balloon may take memory page by page for minutes. So nmd follows a change below 1/256 of the memory only every 10
 * s. */
#define SMALL_STEP_SHARE 256
#define SMALL_STEP_USEC (10 * NM_USEC_PER_SEC)

static bool node_has_changed(const struct nm_manager *m)
{
    const struct nm_settings_basis *b = m->settings_basis;
    uint64_t now = m->sampled.node.memory_total_bytes, before = b->memory_bytes;
    uint64_t step = now > before ? now - before : before - now;

    if (!m->sampled.node_valid || now == 0 || m->sampled.node.n_cpus == 0)
        return false;
    return m->sampled.node.n_cpus != b->cpus || step > before / SMALL_STEP_SHARE ||
           (step > 0 && nm_now_usec() - b->usec >= SMALL_STEP_USEC);
}

static void report_node(struct nm_manager *m, const struct nm_policy_settings *before)
{
    const struct nm_policy_settings *s = &m->settings;
    double vcores = nm_settings_millicores_vcores(m->config, &m->sampled.node, s->capacity.cpu_millicores) / 1000.0;
    char total[32], capacity[32], text[240];

    nm_format_size(m->sampled.node.memory_total_bytes, total, sizeof total);
    nm_format_size(s->capacity.memory_bytes, capacity, sizeof capacity);
    (void)snprintf(text, sizeof text, "the node has %s of memory and %u CPU%s now: capacity is %s and %g vcore%s",
                   total, (unsigned)m->sampled.node.n_cpus, m->sampled.node.n_cpus == 1 ? "" : "s", capacity, vcores,
                   vcores > 0.999 && vcores < 1.001 ? "" : "s");
    if (s->capacity.memory_bytes != before->capacity.memory_bytes ||
        s->capacity.cpu_millicores != before->capacity.cpu_millicores)
        nm_events_publish_node(m, text);
}

void nm_settings_follow_node(struct nm_manager *m)
{
    struct nm_policy_settings s, before = m->settings;

    nm_slice_lower(m);
    if (!node_has_changed(m) || nm_config_follow_node(m->config, &m->sampled.node, m->backend, &s) < 0)
        return;
    (void)scale_requests(m);
    m->settings = s;
    note_node(m);
    report_node(m, &before);
    refresh_limits(m);
    nm_round_request(m, NM_TRIGGER_CHANGE);
}

/* ---- an upstream's size ---------------------------------------------------- */

static void report_size(struct nm_manager *m, uint64_t memory_bytes, uint32_t vcores)
{
    char wanted[32], capacity[32], text[240];

    nm_format_size(m->settings.capacity.memory_bytes, capacity, sizeof capacity);
    if (memory_bytes == 0)
        (void)snprintf(text, sizeof text, "the node has the configured size again: capacity is %s of memory", capacity);
    else
        (void)snprintf(text, sizeof text,
                       "the upstream wants the node to have %s of memory and %u vcores: capacity is %s of memory",
                       nm_format_size(memory_bytes, wanted, sizeof wanted), (unsigned)vcores, capacity);
    nm_events_publish_node(m, text);
}

void nm_manager_set_size(struct nm_manager *m, uint64_t memory_bytes, uint32_t vcores)
{
    struct nm_config *c = m->config;
    struct nm_resources before = m->settings.capacity;
    _cleanup_free_ char *message = NULL;
    struct nm_policy_settings s;

    if (c->wanted_memory_bytes == memory_bytes && c->wanted_vcores == vcores)
        return;
    c->wanted_memory_bytes = memory_bytes;
    c->wanted_vcores = vcores;
    /* If the configuration does not fit a node that has changed since the start, compute the settings as for such a
     * change. */
    if (nm_config_policy_settings(c, &m->sampled.node, m->backend, &s, &message) < 0 &&
        nm_config_follow_node(c, &m->sampled.node, m->backend, &s) < 0)
        return; /* there is no sample yet; the next sample leads to the change */
    m->settings = s;
    note_node(m);
    if (scale_requests(m) || before.memory_bytes != s.capacity.memory_bytes)
        refresh_limits(m);
    report_size(m, memory_bytes, vcores);
    nm_round_request(m, NM_TRIGGER_CHANGE);
}

void nm_settings_restart_keys(const struct nm_manager *m, char *buf, size_t size)
{
    buf[0] = '\0';
    if (m->settings_basis->at_start)
        (void)nm_config_needs_restart(m->settings_basis->at_start, m->config, buf, size);
}

/* ---- reload -------------------------------------------------------------- */

/* Replaces the whole configuration. If an error occurs, the old configuration stays in effect, because the new settings
 * are computed and checked before the old settings are freed. Limits are set again only if the capacity or the size of
 * a vcore has changed. */
int nm_manager_reload(struct nm_manager *m, struct nm_problem *ret_problem)
{
    _cleanup_(nm_config_freep) struct nm_config *c = NULL;
    _cleanup_free_ char *message = NULL;
    struct nm_resources before = m->settings.capacity;
    char restart[NM_RESTART_KEYS_SIZE], text[sizeof restart + 80];
    const struct nm_settings_basis *b = m->settings_basis;
    int r = b->config_path
                ? nm_config_load(b->config_path, b->config_must_exist, b->config_defaults, &c, &message)
                : nm_config_new_defaults(&c);

    if (r >= 0)
        r = nm_settings_resettle(m, c, &message);
    if (r < 0) {
        nm_err("the configuration was not reloaded, and the previous one stays in force: %s",
               message ? message : strerror(-r));
        return nm_problem_set(ret_problem, NM_AGENT_E_INVALID, "configuration",
                              b->config_path ? b->config_path : "",
                              "The configuration was refused, and the previous one stays in force: %s",
                              message ? message : strerror(-r));
    }
    c = NULL;
    nm_settings_restart_keys(m, restart, sizeof restart);
    (void)nm_health_reconfigure(m->health, m->config);
    if (scale_requests(m) || before.memory_bytes != m->settings.capacity.memory_bytes ||
        before.cpu_millicores != m->settings.capacity.cpu_millicores)
        refresh_limits(m);
    (void)snprintf(text, sizeof text, "configuration reloaded%s%s",
                   restart[0] ? "; take effect only after a restart: " : "", restart);
    nm_events_publish_node(m, text);
    nm_round_request(m, NM_TRIGGER_CHANGE);
    return 0;
}
