/* SPDX-License-Identifier: Apache-2.0 */

/* See proxy-stats.h. */

#include "yarn/proxy/proxy-stats.h"

#include <errno.h>

#include "yarn/allocator/allocator.h"
#include "yarn/proxy/lend-log.h"
#include "yarn/proxy/placement-log.h"

#define KEYS_SHOWN 8u /* asks of an attempt in the status; /v1/lending/{id} shows all */

struct nm_yarn_proxy_stats {
    uint64_t failed[NM_MASTER_N_CALLS];
    struct nm_histogram took[NM_MASTER_N_CALLS], added;
    uint64_t placed[NM_YARN_ALLOC_N_RULES];
    struct nm_yarn_slot_log *placements;
    struct nm_yarn_lend_base lent;
    struct nm_yarn_slot_log *lent_log;
};

int nm_yarn_proxy_stats_new(int dir_fd, struct nm_yarn_proxy_stats **ret)
{
    _cleanup_(nm_yarn_proxy_stats_freep) struct nm_yarn_proxy_stats *s = calloc(1, sizeof *s);
    int r = s ? nm_yarn_placement_log_new(dir_fd, &s->placements) : -ENOMEM;

    if (r == 0)
        r = nm_yarn_lend_log_new(dir_fd, &s->lent_log);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(s);
    return 0;
}

struct nm_yarn_proxy_stats *nm_yarn_proxy_stats_free(struct nm_yarn_proxy_stats *s)
{
    if (!s)
        return NULL;
    nm_yarn_slot_log_free(s->placements);
    nm_yarn_slot_log_free(s->lent_log);
    free(s);
    return NULL;
}

int nm_yarn_proxy_stats_error(const struct nm_yarn_proxy_stats *s)
{
    return nm_yarn_slot_log_error(s->placements);
}

int nm_yarn_proxy_stats_lent_error(const struct nm_yarn_proxy_stats *s)
{
    return nm_yarn_slot_log_error(s->lent_log);
}

/* ---- counting --------------------------------------------------------------------------------------- */

void nm_yarn_proxy_stats_answered(struct nm_yarn_proxy_stats *s, enum nm_master_call call, uint64_t took_usec)
{
    nm_histogram_add(&s->took[call], took_usec);
}

void nm_yarn_proxy_stats_failed(struct nm_yarn_proxy_stats *s, enum nm_master_call call)
{
    s->failed[call]++;
}

void nm_yarn_proxy_stats_added(struct nm_yarn_proxy_stats *s, uint64_t usec)
{
    nm_histogram_add(&s->added, usec);
}

void nm_yarn_proxy_stats_placed(struct nm_yarn_proxy_stats *s, const struct nm_yarn_container_id *container,
                                const struct nm_yarn_container_id *master, const struct nm_yarn_placement *p)
{
    s->placed[p->why.rule]++;
    nm_yarn_placement_log_add(s->placements, container, master, p);
}

void nm_yarn_proxy_stats_lending(struct nm_yarn_proxy_stats *s, const struct nm_yarn_lend_view *v, bool restored)
{
    if (restored) {
        nm_yarn_lend_view_restored(&s->lent, v);
        return;
    }
    nm_yarn_lend_view_ended(&s->lent, v);
    nm_yarn_lend_log_add(s->lent_log, v);
}

/* ---- queries ---------------------------------------------------------------------------------------- */

static json_t *placed_of(const uint64_t placed[NM_YARN_ALLOC_N_RULES])
{
    return json_pack("{s:I, s:I, s:I}", "node_local", (json_int_t)placed[NM_YARN_ALLOC_NODE_LOCAL], "rack_local",
                     (json_int_t)placed[NM_YARN_ALLOC_RACK_LOCAL], "anywhere", (json_int_t)placed[NM_YARN_ALLOC_ANY]);
}

json_t *nm_yarn_proxy_stats_pipeline(const struct nm_yarn_pipeline_view *v)
{
    const struct nm_yarn_alloc_figures *f = &v->figures;
    uint64_t last = v->last_allocate_realtime_usec;

    return json_pack("{s:s, s:s, s:s?, s:s, s:I, s:I, s:I, s:I, s:o, s:I, s:o, s:o}", "attempt_id", v->attempt,
                     "master_id", v->master, "user", v->user, "state", v->state, "asks", (json_int_t)f->asks,
                     "outstanding", (json_int_t)f->outstanding, "nodes", (json_int_t)f->nodes, "blacklisted",
                     (json_int_t)f->blacklisted, "placed", placed_of(f->placed), "since_usec",
                     (json_int_t)v->since_realtime_usec, "last_allocate_usec",
                     last > 0 ? json_integer((json_int_t)last) : json_null(), "lending",
                     v->lending.books ? nm_yarn_lend_view_to_json(&v->lending, v->user, KEYS_SHOWN) : json_null());
}

void nm_yarn_proxy_stats_sum(const struct nm_yarn_pipeline_view *v, struct nm_yarn_master_stats *ret)
{
    ret->pipelines++;
    ret->outstanding = nm_add_u64(ret->outstanding, v->figures.outstanding);
    if (v->lending.books)
        nm_yarn_lend_view_sum(&v->lending, &ret->lending);
}

void nm_yarn_proxy_stats_fill(const struct nm_yarn_proxy_stats *s, struct nm_yarn_master_stats *ret)
{
    ret->placed_node_local = s->placed[NM_YARN_ALLOC_NODE_LOCAL];
    ret->placed_rack_local = s->placed[NM_YARN_ALLOC_RACK_LOCAL];
    ret->placed_anywhere = s->placed[NM_YARN_ALLOC_ANY];
    memcpy(ret->failed, s->failed, sizeof ret->failed);
    memcpy(ret->took, s->took, sizeof ret->took);
    ret->added = s->added;
    nm_yarn_lend_view_fill(&s->lent, &ret->lending);
}

static const char *call_name(enum nm_master_call c)
{
    static const char *const names[NM_MASTER_N_CALLS] = {
        [NM_MASTER_START] = "start",     [NM_MASTER_REGISTER] = "register", [NM_MASTER_ALLOCATE] = "allocate",
        [NM_MASTER_FINISH] = "finish",   [NM_MASTER_RECOVER] = "recover",   [NM_MASTER_STOP] = "stop",
        [NM_MASTER_TOKEN] = "token",
    };

    return names[c];
}

static json_t *calls_of(const struct nm_yarn_master_stats *m)
{
    json_t *o = json_object();

    for (enum nm_master_call c = 0; o && c < NM_MASTER_N_CALLS; c++) {
        json_t *one = json_pack("{s:I, s:I}", "answered", (json_int_t)m->took[c].n, "failed", (json_int_t)m->failed[c]);

        if (json_object_set_new(o, call_name(c), one) < 0) {
            json_decref(o);
            return NULL;
        }
    }
    return o;
}

json_t *nm_yarn_proxy_stats_to_json(const struct nm_yarn_master_stats *m, json_t *pipelines)
{
    /* jansson's integers are signed, and the sum over all masters can reach UINT64_MAX. */
    const uint64_t outstanding = m->outstanding > INT64_MAX ? INT64_MAX : m->outstanding;

    return json_pack("{s:s, s:I, s:I, s:{s:I, s:I, s:I}, s:o, s:o, s:o}", "address", m->address, "attempts",
                     (json_int_t)m->pipelines, "outstanding", (json_int_t)outstanding, "placed", "node_local",
                     (json_int_t)m->placed_node_local, "rack_local", (json_int_t)m->placed_rack_local, "anywhere",
                     (json_int_t)m->placed_anywhere, "calls", calls_of(m), "lending",
                     m->lending.exists ? nm_yarn_lend_view_totals_to_json(&m->lending, pipelines) : json_null(),
                     "pipelines", pipelines);
}

/* Writes the same figures as YARN's AMRMProxyMetrics. The count of each histogram is the number of successful calls. */
void nm_yarn_proxy_stats_write_metrics(const struct nm_yarn_master_stats *m, const struct nm_metric_writer *w)
{
    static const char placed[] = "nm_amrmproxy_placed_containers_total", failures[] = "nm_amrmproxy_failures_total",
                      pipelines[] = "nm_amrmproxy_pipelines", outstanding[] = "nm_amrmproxy_outstanding_containers",
                      took[] = "nm_amrmproxy_call_seconds", added[] = "nm_amrmproxy_added_seconds";

    w->family(w->to, pipelines, NM_METRIC_GAUGE, "Attempts of applications whose masters go through this node.");
    w->sample(w->to, pipelines, NULL, m->pipelines);
    w->family(w->to, outstanding, NM_METRIC_GAUGE,
              "Opportunistic containers that masters have requested and this node has not placed yet.");
    w->sample(w->to, outstanding, NULL, (double)m->outstanding);
    w->family(w->to, placed, NM_METRIC_COUNTER,
              "Opportunistic containers that this node has placed, by the rule that placed them.");
    w->sample(w->to, placed, &(struct nm_metric_label){"rule", "node-local"}, (double)m->placed_node_local);
    w->sample(w->to, placed, &(struct nm_metric_label){"rule", "rack-local"}, (double)m->placed_rack_local);
    w->sample(w->to, placed, &(struct nm_metric_label){"rule", "any"}, (double)m->placed_anywhere);
    w->family(w->to, failures, NM_METRIC_COUNTER, "Calls for masters that failed, by call.");
    for (enum nm_master_call c = 0; c < NM_MASTER_N_CALLS; c++)
        w->sample(w->to, failures, &(struct nm_metric_label){"call", call_name(c)}, (double)m->failed[c]);
    w->family(w->to, took, NM_METRIC_HISTOGRAM, "Time from a call to its successful answer, by call.");
    for (enum nm_master_call c = 0; c < NM_MASTER_N_CALLS; c++)
        w->histogram(w->to, took, &(struct nm_metric_label){"call", call_name(c)}, &m->took[c]);
    w->family(w->to, added, NM_METRIC_HISTOGRAM, "Time that this node added to a call, by call.");
    w->histogram(w->to, added, &(struct nm_metric_label){"call", "allocate"}, &m->added);
    if (m->lending.exists)
        nm_yarn_lend_view_write_metrics(&m->lending, w);
}

static json_t *skipped_of(const struct nm_yarn_alloc_why *w)
{
    json_t *o = json_object();

    for (enum nm_yarn_skip_reason i = 0; o && i < NM_YARN_N_SKIP_REASONS; i++)
        if (json_object_set_new(o, nm_yarn_skip_reason_name(i), json_integer(w->skipped[i])) < 0) {
            json_decref(o);
            o = NULL;
        }
    return o;
}

static json_t *placement_to_json(const struct nm_yarn_logged_placement *placement, const char *container)
{
    const struct nm_yarn_alloc_node node = {.host = placement->host, .port = placement->port, .rack = placement->rack};
    char where[280], summary[NM_YARN_WHY_SIZE], explanation[NM_YARN_WHY_SIZE], attempt[NM_YARN_ID_SIZE];
    struct nm_yarn_placement p = placement->what;

    p.node = &node;
    (void)snprintf(where, sizeof where, "%s:%d", placement->host, placement->port);
    nm_yarn_placement_summary(&p, summary, sizeof summary);
    nm_yarn_placement_explain(&p, explanation, sizeof explanation);
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:i, s:i, s:I, s:i, s:i, s:o, s:I, s:I, s:I, s:I, s:s, s:s}",
                     "container_id", container, "attempt_id",
                     nm_yarn_attempt_id_format(&placement->is.container.attempt, attempt), "node", where, "rule",
                     nm_yarn_alloc_rule_name(p.why.rule), "memory_bytes",
                     (json_int_t)(p.size.memory_mib * (int64_t)NM_MIB), "vcores", p.size.vcores, "priority",
                     p.priority, "request_id", (json_int_t)p.request_id, "listed", (int)p.why.listed, "position",
                     (int)p.why.position, "passed", skipped_of(&p.why), "hosts", (json_int_t)p.why.hosts, "racks",
                     (json_int_t)p.why.racks, "waited_usec", (json_int_t)p.why.waited_usec, "realtime_usec",
                     (json_int_t)placement->realtime_usec, "summary", summary, "explanation", explanation);
}

json_t *nm_yarn_proxy_stats_placement(const struct nm_yarn_proxy_stats *s, const char *container,
                                      struct nm_yarn_container_id *ret_master)
{
    const struct nm_yarn_logged_placement *placement = nm_yarn_placement_log_find(s->placements, container);
    json_t *found = placement ? placement_to_json(placement, container) : NULL;

    if (found)
        *ret_master = placement->is.master;
    return found;
}

json_t *nm_yarn_proxy_stats_lent(const struct nm_yarn_proxy_stats *s, const char *container, bool with_names,
                                 struct nm_yarn_container_id *ret_master)
{
    char attempt[NM_YARN_ID_SIZE];
    struct nm_yarn_lend_view v;
    struct nm_lend_history h;
    json_t *found = NULL;

    if (nm_yarn_lend_log_find(s->lent_log, container, &h, &v))
        found = nm_yarn_lend_view_explain_container(
            &v, &h, container, nm_yarn_attempt_id_format(&v.master.attempt, attempt), with_names);
    if (found)
        *ret_master = v.master;
    return found;
}
