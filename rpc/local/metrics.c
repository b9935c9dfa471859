/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See metrics.h. Writes each metric family as one block, as the format requires: the HELP and TYPE lines, then the
 * samples. No metric has a label for the container, because the number of containers is unlimited, and Prometheus would
 * store a time series for each container.
 */

#include "rpc/local/metrics.h"

#include <inttypes.h>

#include "rpc/local/messages.h"

static void head(FILE *f, const char *name, const char *type, const char *help)
{
    (void)fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* 15 digits keep numbers of bytes exact up to a petabyte. */
static void gauge(FILE *f, const char *name, double value, const char *help)
{
    head(f, name, "gauge", help);
    (void)fprintf(f, "%s %.15g\n", name, value);
}

static void counter(FILE *f, const char *name, double value, const char *help)
{
    head(f, name, "counter", help);
    (void)fprintf(f, "%s %.15g\n", name, value);
}

/* Writes a label. Escapes backslash, quote and newline, as the format requires. */
static void put_label(FILE *f, const char *label, const char *text)
{
    (void)fprintf(f, "%s=\"", label);
    for (; *text; text++) {
        if (*text == '\n')
            (void)fputs("\\n", f);
        else if (*text == '"' || *text == '\\')
            (void)fprintf(f, "\\%c", *text);
        else
            (void)fputc(*text, f);
    }
    (void)fputc('"', f);
}

static void labelled(FILE *f, const char *name, const char *label, const char *text, double value)
{
    (void)fprintf(f, "%s{", name);
    put_label(f, label, text);
    (void)fprintf(f, "} %.15g\n", value);
}

static void by_type(FILE *f, const char *name, const char *help, double guaranteed,
                    double opportunistic)
{
    head(f, name, "gauge", help);
    labelled(f, name, "execution_type", "guaranteed", guaranteed);
    labelled(f, name, "execution_type", "opportunistic", opportunistic);
}

static void by_resource(FILE *f, const char *name, const char *help, const struct nm_fractions *v)
{
    head(f, name, "gauge", help);
    labelled(f, name, "resource", "memory", v->memory);
    labelled(f, name, "resource", "cpu", v->cpu);
}

static double cores(uint64_t millicores)
{
    return (double)millicores / 1e3;
}

static double seconds(uint64_t usec)
{
    return (double)usec / 1e6;
}

static void node(FILE *f, const struct nm_status *s)
{
    static const enum nm_node_state states[] = {NM_NODE_RUNNING, NM_NODE_DRAINING, NM_NODE_SHADOW};

    head(f, "nm_build_info", "gauge", "The version of nmd, as a label; always 1.");
    labelled(f, "nm_build_info", "version", NM_VERSION, 1);
    head(f, "nm_node_state", "gauge", "1 for the state that the node is in, 0 for the other states.");
    for (size_t i = 0; i < NM_ARRAY_SIZE(states); i++)
        labelled(f, "nm_node_state", "state", nm_node_state_name(states[i]), s->state == states[i]);
    gauge(f, "nm_node_healthy", s->healthy,
          "1 if the node is healthy; 0 if it admits no containers because it is unhealthy.");
    gauge(f, "nm_node_drained", s->drained, "1 if the node is draining and has no containers.");
    gauge(f, "nm_node_removable_since_seconds", seconds(s->removable_since_realtime_usec),
          "Time since which the node has no containers and can be given back, in seconds since 1970; 0 if it is "
          "in use.");
    gauge(f, "nm_breaker_open", s->breaker_until_usec != 0,
          "1 while no opportunistic containers are admitted because of earlier kills.");
}

static void resources(FILE *f, const struct nm_status *s)
{
    const struct nm_resources *a = s->allocated, *u = s->used_by;
    const uint32_t *v = s->allocated_vcores_milli;

    gauge(f, "nm_capacity_memory_bytes", (double)s->capacity.memory_bytes,
          "Memory that the node offers to containers.");
    gauge(f, "nm_capacity_vcores", (double)s->capacity_vcores_milli / 1e3,
          "Virtual cores that the node offers.");
    gauge(f, "nm_configured_memory_bytes", (double)s->configured.memory_bytes,
          "Memory that the node would offer by its own configuration.");
    gauge(f, "nm_configured_vcores", (double)s->configured_vcores_milli / 1e3,
          "Virtual cores that the node would offer by its own configuration.");
    gauge(f, "nm_capacity_cpu_cores", cores(s->capacity.cpu_millicores),
          "CPUs that the node offers; use is measured against these.");
    by_type(f, "nm_allocated_memory_bytes", "Memory that containers asked for, by execution type.",
            (double)a[NM_GUARANTEED].memory_bytes, (double)a[NM_OPPORTUNISTIC].memory_bytes);
    by_type(f, "nm_allocated_vcores", "Virtual cores that containers asked for, by execution type.",
            (double)v[NM_GUARANTEED] / 1e3, (double)v[NM_OPPORTUNISTIC] / 1e3);
    by_type(f, "nm_used_memory_bytes", "Memory used by containers as measured, by execution type.",
            (double)u[NM_GUARANTEED].memory_bytes, (double)u[NM_OPPORTUNISTIC].memory_bytes);
    by_type(f, "nm_used_cpu_cores",
            "CPUs used by containers as measured, by execution type.",
            cores(u[NM_GUARANTEED].cpu_millicores), cores(u[NM_OPPORTUNISTIC].cpu_millicores));
    gauge(f, "nm_reserved_memory_bytes", (double)s->reserved.memory_bytes,
          "Memory reserved for containers while they warm up, beyond their measured use.");
    gauge(f, "nm_reserved_cpu_cores", cores(s->reserved.cpu_millicores),
          "CPUs reserved for containers while they warm up, beyond their measured use.");
    gauge(f, "nm_used_by_others_memory_bytes", (double)s->used_by_others.memory_bytes,
          "Memory used by processes outside of containers, beyond the system's reserve.");
    gauge(f, "nm_used_by_others_cpu_cores", cores(s->used_by_others.cpu_millicores),
          "CPUs used by processes outside of containers, beyond the system's reserve.");
    by_resource(f, "nm_utilization_ratio",
                "Use of containers, reservations for their warm-up, and use by other processes, as a share of "
                "capacity.",
                &s->utilization);
    by_resource(f, "nm_over_allocation_threshold_ratio",
                "Utilization below which opportunistic containers are admitted.",
                &s->settings.over_allocation_threshold);
    by_resource(f, "nm_preemption_threshold_ratio",
                "Utilization above which resources are taken back from opportunistic containers.",
                &s->settings.preemption_threshold);
    if (s->squeeze_millicores != NM_NO_SQUEEZE)
        gauge(f, "nm_squeeze_cpu_cores", cores(s->squeeze_millicores),
              "CPU quota of all opportunistic containers together; absent without a quota.");
}

static void containers(FILE *f, const struct nm_status *s)
{
    by_type(f, "nm_containers_running", "Running containers, by execution type.",
            s->guaranteed_running, s->opportunistic_running);
    gauge(f, "nm_containers_paused", s->paused, "Paused containers.");
    gauge(f, "nm_containers_queued", s->queued,
          "Queued containers, of both execution types.");
    gauge(f, "nm_containers_preparing", s->preparing, "Containers that their owners are preparing.");
    gauge(f, "nm_results_kept", s->kept_results,
          "Ended containers whose owners have not acknowledged the result yet.");
    gauge(f, "nm_containers_ended", s->completed, "Ended containers that are still listed.");
    gauge(f, "nm_queue_length", s->queue_length, "Opportunistic containers in the queue.");
    gauge(f, "nm_queue_max_length", s->settings.queue_max_length,
          "Maximum number of opportunistic containers in the queue.");
    if (s->queue_reason != NM_REASON_NONE) {
        head(f, "nm_queue_hold", "gauge",
             "Reason why the head of the queue waits, as a label; absent if no reason is known.");
        labelled(f, "nm_queue_hold", "reason", nm_reason_name(s->queue_reason), 1);
    }
}

/* Writes one sample for each reason. Usual reasons are also written with the value 0, because Prometheus can't compute
 * a rate for the first event of a reason if the time series begins with this event. Events that an older nmd counted
 * without a reason have the reason "unrecorded". */
static void by_reason(FILE *f, const char *name, const char *help, const struct nm_counters *c, enum nm_counted what,
                      uint64_t sum)
{
    static const bool usual[NM_COUNTED][NM_REASON_COUNT] = {
        [NM_COUNT_ADMITTED] = {[NM_REASON_GUARANTEED] = true, [NM_REASON_WITHIN_ALLOCATION] = true,
                               [NM_REASON_OVER_ALLOCATION] = true},
        [NM_COUNT_REFUSED] = {[NM_REASON_LARGER_THAN_NODE] = true, [NM_REASON_GUARANTEED_FULL] = true,
                              [NM_REASON_QUEUE_FULL] = true},
        [NM_COUNT_PAUSED] = {[NM_REASON_CPU_OVER_BETA] = true, [NM_REASON_ROOM_FOR_GUARANTEED] = true},
        [NM_COUNT_RESUMED] = {[NM_REASON_BELOW_THRESHOLD] = true, [NM_REASON_PAUSE_EXPIRED] = true},
        [NM_COUNT_KILLED] = {[NM_REASON_MEMORY_OVER_BETA] = true, [NM_REASON_CPU_OVER_BETA] = true,
                             [NM_REASON_ROOM_FOR_GUARANTEED] = true, [NM_REASON_ROOM_FOR_HEAD] = true,
                             [NM_REASON_PAUSE_DEADLINE] = true},
        [NM_COUNT_SHED] = {[NM_REASON_SHED] = true, [NM_REASON_WAITED_TOO_LONG] = true},
    };
    uint64_t reported = 0;

    head(f, name, "counter", help);
    for (size_t r = 0; r < NM_REASON_COUNT; r++) {
        reported += c->by_reason[what][r];
        if (usual[what][r] || c->by_reason[what][r] > 0)
            labelled(f, name, "reason", nm_reason_name((enum nm_reason)r), (double)c->by_reason[what][r]);
    }
    if (sum > reported)
        labelled(f, name, "reason", "unrecorded", (double)(sum - reported));
}

/* The names follow the rules of Prometheus, which promtool checks: base units, and _total for values that only grow. */
static void counters(FILE *f, const struct nm_counters *c)
{
    counter(f, "nm_submissions_total", (double)c->submitted, "Containers submitted.");
    by_reason(f, "nm_admissions_total", "Containers admitted, by reason.", c, NM_COUNT_ADMITTED, c->admitted);
    by_reason(f, "nm_refusals_total", "Requests refused, by reason.", c, NM_COUNT_REFUSED, c->refused);
    counter(f, "nm_completions_total", (double)c->completed,
            "Containers that ended, for any reason.");
    by_reason(f, "nm_pauses_total", "Pauses by policy, by reason.", c, NM_COUNT_PAUSED, c->paused);
    by_reason(f, "nm_resumes_total", "Resumptions by policy, by reason.", c, NM_COUNT_RESUMED, c->resumed);
    by_reason(f, "nm_kills_total", "Kills by policy, by reason.", c, NM_COUNT_KILLED, c->killed);
    by_reason(f, "nm_sheds_total", "Queued containers discarded by policy, by reason.", c, NM_COUNT_SHED, c->shed);
    counter(f, "nm_reclaimed_bytes_total", (double)c->reclaimed_bytes,
            "Memory that reclaims have freed from opportunistic containers.");
    counter(f, "nm_running_reclaims_total", (double)c->running_reclaims,
            "Reclaims of memory of running containers, in place of a kill.");
    counter(f, "nm_kernel_oom_kills_total", (double)c->kernel_oom_kills,
            "Processes of containers that the kernel's OOM killer has killed, because of any limit.");
    counter(f, "nm_wasted_cpu_seconds_total", seconds(c->wasted_cpu_usec),
            "CPU time of opportunistic containers that were killed by policy.");
    counter(f, "nm_samples_total", (double)c->samples, "Sampling rounds.");
    counter(f, "nm_late_samples_total", (double)c->late_samples, "Sampling rounds that were late.");
    counter(f, "nm_pressure_events_total", (double)c->pressure_events,
            "Pressure events from the kernel.");
    counter(f, "nm_drift_repairs_total", (double)c->drift_repairs,
            "Limits that another program had changed and nmd has restored.");
    counter(f, "nm_unkillable_containers_total", (double)c->unkillable,
            "Containers that neither ended nor freed memory for 10 s after SIGKILL.");
}

/* Writes the start of each line of a histogram: the name, a suffix and the label. */
static void put_series(FILE *f, const char *name, const char *suffix, const char *label, const char *text)
{
    (void)fprintf(f, "%s%s{", name, suffix);
    put_label(f, label, text);
}

static void histogram(FILE *f, const char *name, const char *label, const char *text, const struct nm_histogram *h)
{
    uint64_t n = 0;

    for (size_t i = 0; i < NM_HISTOGRAM_BUCKETS; i++) {
        n += h->count[i];
        put_series(f, name, "_bucket", label, text);
        (void)fprintf(f, ",le=\"%g\"} %" PRIu64 "\n", seconds(nm_histogram_bounds_usec[i]), n);
    }
    /* The count is the sum of the buckets instead of h->n, because the format requires the count to equal the bucket
     * +Inf. */
    n += h->count[NM_HISTOGRAM_BUCKETS];
    put_series(f, name, "_bucket", label, text);
    (void)fprintf(f, ",le=\"+Inf\"} %" PRIu64 "\n", n);
    put_series(f, name, "_sum", label, text);
    (void)fprintf(f, "} %.15g\n", seconds(h->sum_usec));
    put_series(f, name, "_count", label, text);
    (void)fprintf(f, "} %" PRIu64 "\n", n);
}

/* Omits the age if no sample exists, because alerts would take the value 0 for a new sample. */
static void sampling(FILE *f, const struct nm_status *s)
{
    if (s->sample_age_usec != UINT64_MAX)
        gauge(f, "nm_sample_age_seconds", seconds(s->sample_age_usec), "Age of the newest sample.");
    gauge(f, "nm_sample_period_seconds", seconds(s->sample_period_usec),
          "Time between two samples.");
    gauge(f, "nm_sample_cost_seconds", seconds(s->sample_cost_usec),
          "Time that the newest sampling round took.");
    head(f, "nm_reaction_seconds", "histogram",
         "Time from a cause (sample or pressure event) to the relief being effective, by action.");
    histogram(f, "nm_reaction_seconds", "action", "pause", &s->reaction_pause);
    histogram(f, "nm_reaction_seconds", "action", "kill", &s->reaction_kill);
}

/* Writes the upstream's metrics only if the node has an upstream, so that no alert reports missing heartbeats of a node
 * without a cluster. */
static void upstream(FILE *f, const struct nm_upstream *u)
{
    if (!u->kind || nm_streq(u->kind, "none"))
        return;
    gauge(f, "nm_upstream_running", nm_streq(u->state, "running"),
          "1 while the node is registered upstream and its heartbeats are answered.");
    gauge(f, "nm_upstream_last_heartbeat_seconds", seconds(u->last_heartbeat_realtime_usec),
          "Time of the last answered heartbeat, in seconds since 1970; 0 before the first.");
    if (u->sized) {
        gauge(f, "nm_upstream_memory_bytes", (double)u->memory_bytes,
              "Memory of the node as set by the upstream.");
        gauge(f, "nm_upstream_vcores", u->vcores, "Virtual cores of the node as set by the upstream.");
    }
    counter(f, "nm_upstream_failures_total", (double)u->failures, "Requests to the upstream without a good answer.");
    head(f, "nm_upstream_heartbeat_seconds", "histogram", "Time from one answered heartbeat to the next.");
    histogram(f, "nm_upstream_heartbeat_seconds", "kind", u->kind, &u->heartbeat);
    head(f, "nm_upstream_rpc_seconds", "histogram", "Time from a request to the upstream to its answer.");
    histogram(f, "nm_upstream_rpc_seconds", "kind", u->kind, &u->rpc);
}

/* The functions of struct nm_metric_writer. `to` is the file. */

static void write_family(void *to, const char *name, enum nm_metric_type type, const char *help)
{
    static const char *const types[] = {
        [NM_METRIC_GAUGE] = "gauge", [NM_METRIC_COUNTER] = "counter", [NM_METRIC_HISTOGRAM] = "histogram"};

    head(to, name, types[type], help);
}

static void write_sample(void *to, const char *name, const struct nm_metric_label *label, double value)
{
    if (label)
        labelled(to, name, label->name, label->value, value);
    else
        (void)fprintf(to, "%s %.15g\n", name, value);
}

static void write_histogram(void *to, const char *name, const struct nm_metric_label *label,
                            const struct nm_histogram *h)
{
    histogram(to, name, label->name, label->value, h);
}

static void machine(FILE *f, const struct nm_node_sample *n)
{
    gauge(f, "nm_machine_memory_bytes", (double)n->memory_total_bytes, "Memory of the machine.");
    gauge(f, "nm_machine_memory_available_bytes", (double)n->memory_available_bytes,
          "MemAvailable.");
    gauge(f, "nm_machine_swap_bytes", (double)n->swap_total_bytes, "Swap of the machine.");
    gauge(f, "nm_machine_swap_free_bytes", (double)n->swap_free_bytes, "Free swap.");
    gauge(f, "nm_machine_cpus", n->n_cpus, "CPUs that are online.");
    gauge(f, "nm_machine_cpu_busy_cores", cores(n->cpu_busy_millicores), "Busy CPUs.");
    head(f, "nm_machine_pressure_ratio", "gauge",
         "Share of the last ten seconds in which tasks stalled (PSI).");
    labelled(f, "nm_machine_pressure_ratio", "kind", "memory_some",
             n->memory_pressure_some_avg10 / 100);
    labelled(f, "nm_machine_pressure_ratio", "kind", "memory_full",
             n->memory_pressure_full_avg10 / 100);
    labelled(f, "nm_machine_pressure_ratio", "kind", "cpu_some", n->cpu_pressure_some_avg10 / 100);
}

static void links(FILE *f, const struct nm_status *s)
{
    if (s->n_links == 0)
        return;
    head(f, "nm_link_receive_bytes_total", "counter", "Bytes received, by network link.");
    for (unsigned i = 0; i < s->n_links; i++)
        labelled(f, "nm_link_receive_bytes_total", "link", s->links[i].name,
                 (double)s->links[i].rx_bytes);
    head(f, "nm_link_transmit_bytes_total", "counter", "Bytes sent, by network link.");
    for (unsigned i = 0; i < s->n_links; i++)
        labelled(f, "nm_link_transmit_bytes_total", "link", s->links[i].name,
                 (double)s->links[i].tx_bytes);
    head(f, "nm_link_utilization_ratio", "gauge",
         "Use of the busier direction, as a share of the link's speed; 0 if the speed is unknown.");
    for (unsigned i = 0; i < s->n_links; i++)
        labelled(f, "nm_link_utilization_ratio", "link", s->links[i].name, s->links[i].utilization);
}

/* Uses the metric names that the client libraries of Prometheus use for a process, with the prefix "nm_". */
static void process(FILE *f, const struct nm_status *s)
{
    gauge(f, "nm_process_resident_memory_bytes", (double)s->own_rss_bytes,
          "Resident memory of nmd itself.");
    counter(f, "nm_process_cpu_seconds_total", seconds(s->own_cpu_usec), "CPU time of nmd itself.");
    gauge(f, "nm_process_start_time_seconds", seconds(s->started_realtime_usec),
          "Time of nmd's start, in seconds since 1970.");
}

int nm_metrics_format(const struct nm_status *s, nm_metrics_upstream_cb_t more, void *userdata, char **ret,
                      size_t *ret_len)
{
    _cleanup_free_ char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    const struct nm_metric_writer w = {write_family, write_sample, write_histogram, f};

    if (!f)
        return -ENOMEM;
    node(f, s);
    resources(f, s);
    containers(f, s);
    counters(f, &s->counters);
    sampling(f, s);
    machine(f, &s->node);
    links(f, s);
    upstream(f, &s->upstream);
    more(userdata, &w);
    process(f, s);
    if (ferror(f) | fclose(f))
        return -ENOMEM;
    *ret = STEAL_PTR(text);
    *ret_len = len;
    return 0;
}
