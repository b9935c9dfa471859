/* SPDX-License-Identifier: Apache-2.0 */

/* The status that the upstream provides for "nmctl status", "nmctl config", the metrics and the log. */

#include "yarn/yarn-state.h"

#include <syslog.h>

#include "agent/status.h"

const struct nm_yarn_address *nm_yarn_tracker(const struct nm_yarn *y)
{
    return y->settings->n_trackers > 0 ? &y->settings->trackers[y->tracker % y->settings->n_trackers]
                                       : &y->settings->tracker;
}

static const char *state_name(const struct nm_yarn *y)
{
    if (y->state.phase == NM_YARN_STOPPED)
        return "stopped";
    if (y->state.failures > 0)
        return "unreachable";
    return y->state.phase == NM_YARN_RUNNING ? "running" : "registering";
}

static void show(void *userdata, struct nm_upstream *ret)
{
    const struct nm_yarn *y = userdata;
    const struct nm_yarn_address *rm = nm_yarn_tracker(y);

    *ret = y->shown;
    ret->kind = "yarn";
    ret->state = state_name(y);
    (void)snprintf(ret->address, sizeof ret->address, "%s:%u", rm->host, (unsigned)rm->port);
    if (*y->host)
        (void)snprintf(ret->node, sizeof ret->node, "%s:%d", y->host, y->id.port);
    (void)snprintf(ret->trouble, sizeof ret->trouble, "%s", y->state.trouble);
    ret->sized = y->state.sized;
    ret->memory_bytes = (uint64_t)y->state.memory_mib * NM_MIB;
    ret->vcores = (uint32_t)y->state.vcores;
}

static json_t *show_settings(void *userdata)
{
    const struct nm_yarn *y = userdata;

    return nm_yarn_settings_to_json(y->settings);
}

/* ---- lending ------------------------------------------------------------------------------ */

/* Time within which the record counts the ends of containers. A lent task of MapReduce or Tez seldom runs longer. An
 * executor of Spark runs longer, and has more risk. */
#define RECORD_WITHIN_USEC (600 * NM_USEC_PER_SEC)

/* Returns the risk of what would have been lent: how often a container of the mean size would have been killed on this
 * node. Returns false if nothing was observed, or if the history is too short. */
static bool get_record(const struct nm_yarn *y, const struct nm_yarn_lend_totals *t, uint64_t *ret_memory_bytes,
                       struct nm_room_record *ret)
{
    const struct nm_lend_figures *f = &t->figures;

    if (!t->observes || f->observed == 0)
        return false;
    *ret_memory_bytes = f->observed_memory_mib / f->observed * NM_MIB;
    nm_manager_get_room_record(y->manager, *ret_memory_bytes, RECORD_WITHIN_USEC, ret);
    return ret->starts > 0;
}

/* Adds the record to the object of the masters. Returns the object, or NULL if there is no memory. */
static json_t *add_record(const struct nm_yarn *y, json_t *masters)
{
    struct nm_yarn_master_stats m;
    struct nm_room_record record;
    uint64_t memory_bytes;

    nm_yarn_proxy_show(y->services->proxy, &m);
    if (!masters || !get_record(y, &m.lending, &memory_bytes, &record))
        return masters;
    if (json_object_set_new(json_object_get(masters, "lending"), "record",
                            json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "memory_bytes", (json_int_t)memory_bytes,
                                      "within_usec", (json_int_t)RECORD_WITHIN_USEC, "starts",
                                      (json_int_t)record.starts, "exceeded", (json_int_t)record.exceeded, "step_usec",
                                      (json_int_t)record.step_usec, "span_usec", (json_int_t)record.span_usec)) == 0)
        return masters;
    json_decref(masters);
    return NULL;
}

static void write_record(const struct nm_yarn *y, const struct nm_metric_writer *w)
{
    static const char name[] = "nm_lending_observed_risk_ratio";
    struct nm_yarn_master_stats m;
    struct nm_room_record record;
    uint64_t memory_bytes;

    nm_yarn_proxy_show(y->services->proxy, &m);
    if (!get_record(y, &m.lending, &memory_bytes, &record))
        return;
    w->family(w->to, name, NM_METRIC_GAUGE,
              "Share of the starts of a container of the mean observed size, by this node's last day, after which it "
              "would have been killed within 10 minutes.");
    w->sample(w->to, name, NULL, (double)record.exceeded / record.starts);
}

/* ---- functions of the upstream -------------------------------------------------------------- */

static json_t *show_masters(const struct nm_yarn *y, const struct nm_caller *who, bool with_users)
{
    struct nm_yarn_viewer l = {y->manager, who};

    if (!y->services->proxy)
        return json_null();
    return add_record(y, nm_yarn_proxy_to_json(y->services->proxy, nm_yarn_may_see, &l, with_users));
}

/* An application has no container that nm_yarn_may_see() could examine after its containers have ended. So only
 * administrators see the users of the uploads. */
static json_t *show_logs(const struct nm_yarn *y, const struct nm_caller *who, bool with_users)
{
    return y->services->logs ? nm_yarn_logs_to_json(y->services->logs, with_users && who->admin) : json_null();
}

static json_t *show_details(void *userdata, const struct nm_caller *who, bool with_users)
{
    const struct nm_yarn *y = userdata;
    const struct nm_yarn_aux_host *aux_host = y->services->aux_host;
    json_t *details = json_object();

    if (json_object_set_new(details, "logs", show_logs(y, who, with_users)) == 0 &&
        json_object_set_new(details, "masters", show_masters(y, who, with_users)) == 0 &&
        json_object_set_new(details, "resources", nm_yarn_node_show_resources(y->services->node)) == 0 &&
        json_object_set_new(details, "aux_host", aux_host ? nm_yarn_aux_host_to_json(aux_host) : json_null()) == 0 &&
        json_object_set_new(details, "gpus", nm_yarn_gpus_show(y, who)) == 0 &&
        json_object_set_new(details, "services", nm_yarn_aux_services_show(y)) == 0 &&
        nm_yarn_labels_show(y, details) == 0)
        return details;
    json_decref(details);
    return NULL;
}

static void write_metrics(void *userdata, const struct nm_metric_writer *w)
{
    const struct nm_yarn *y = userdata;

    nm_yarn_gpus_write_metrics(y, w);
    nm_yarn_aux_services_write_metrics(y, w);
    if (y->services->logs)
        nm_yarn_logs_write_metrics(y->services->logs, w);
    if (!y->services->proxy)
        return;
    nm_yarn_proxy_write_metrics(y->services->proxy, w);
    write_record(y, w);
}

void nm_yarn_show(struct nm_yarn *y)
{
    static const struct nm_upstream_ops ops = {
        .status = show, .details = show_details, .metrics = write_metrics, .config = show_settings,
        .views = nm_yarn_views, .n_views = NM_YARN_N_VIEWS, .page = nm_yarn_page};

    nm_manager_set_upstream(y->manager, &ops, y);
}

int nm_yarn_none(struct nm_manager *m)
{
    static const struct nm_upstream_ops ops = {.views = nm_yarn_views, .n_views = NM_YARN_N_VIEWS};

    nm_manager_set_upstream(m, &ops, NULL);
    return 0;
}

nm_printf(3, 4) static void log_message(struct nm_yarn *y, int level, const char *format, ...)
{
    char text[700];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    y->report_cb(level, text);
}

void nm_yarn_show_change(struct nm_yarn *y)
{
    const struct nm_yarn_address *rm = nm_yarn_tracker(y);
    bool well = y->state.phase == NM_YARN_RUNNING && y->state.failures == 0 && y->shown.heartbeats > 0;

    if (y->state.phase == NM_YARN_STOPPED)
        log_message(y, LOG_WARNING, "%s; nmd continues without the cluster until it is restarted", y->state.trouble);
    else if (well && !y->well)
        log_message(y, LOG_INFO, "node %s:%d is registered with the ResourceManager at %s:%u", y->host, y->id.port,
                    rm->host, (unsigned)rm->port);
    else if (!well && !y->troubled && (y->well || y->state.failures > 0))
        log_message(y, LOG_WARNING, "not connected to the ResourceManager at %s:%u: %s; nmd continues and retries",
                    rm->host, (unsigned)rm->port, y->state.trouble);
    y->troubled = !well && (y->troubled || y->well || y->state.failures > 0);
    y->well = well;
}
