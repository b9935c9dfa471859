/* SPDX-License-Identifier: Apache-2.0 */

/* Shows nm-shuffle and nm-spark-shuffle in the status and in the metrics, and services that are written in Java in the
 * metrics: aux-host.c shows their process in the status. */

#include "yarn/yarn-state.h"

#include "util/utf8.h"
#include "yarn/launch/aux-host.h"
#include "yarn/launch/aux-server.h"

#define MOST 2u

struct service {
    const char *name;
    bool is_spark;
    uint64_t applications, up; /* up: 1 or 0 */
    struct nm_yarn_aux_state state;
    struct nm_yarn_shuffle_figures figures;
    const struct nm_yarn_shuffle_usage *top;
    size_t n_top;
};

/* Lists the services of this node. Requests new figures of each, which arrive later. */
static size_t list(const struct nm_yarn *y, struct service all[static MOST])
{
    struct nm_yarn_services *s = y->services;
    size_t n = 0;

    if (s->shuffle) {
        all[n] = (struct service){.name = NM_YARN_SHUFFLE, .applications = nm_yarn_shuffle_count(s->shuffle)};
        nm_yarn_shuffle_get_state(s->shuffle, &all[n].state);
        nm_yarn_shuffle_get_figures(s->shuffle, &all[n++].figures);
    }
    if (s->spark) {
        all[n] = (struct service){.name = nm_yarn_spark_name(s->spark), .is_spark = true,
                                  .applications = nm_yarn_spark_count(s->spark)};
        all[n].n_top = nm_yarn_spark_get_top(s->spark, &all[n].top);
        nm_yarn_spark_get_state(s->spark, &all[n].state);
        nm_yarn_spark_get_figures(s->spark, &all[n++].figures);
    }
    for (size_t i = 0; i < n; i++)
        all[i].up = all[i].state.is_up;
    return n;
}

/* ---- status ------------------------------------------------------------------------------- */

/* A figure that only Spark's service has. */
static json_t *of_spark(const struct service *s, uint64_t figure)
{
    return s->is_spark ? json_integer((json_int_t)figure) : json_null();
}

/* The end of the process may be described by a line that the process wrote. */
static json_t *trouble_of(const struct nm_yarn_aux_state *t)
{
    return t->is_up ? json_null() : json_stringn(t->trouble, nm_utf8_prefix(t->trouble));
}

static json_t *show_usage(const struct nm_yarn_shuffle_usage *u)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "application", u->application,
                     "connections", (json_int_t)u->connections, "streams", (json_int_t)u->streams,
                     "stalled_readers", (json_int_t)u->stalled, "slow_readers", (json_int_t)u->slow,
                     "blocks_sent", (json_int_t)u->outputs_ok, "blocks_failed", (json_int_t)u->outputs_failed,
                     "sent_bytes", (json_int_t)u->sent_bytes);
}

/* NULL: out of memory. */
static json_t *show_top(const struct service *s)
{
    json_t *array = json_array();

    for (size_t i = 0; i < s->n_top; i++)
        if (json_array_append_new(array, show_usage(&s->top[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *show(const struct service *s)
{
    const struct nm_yarn_shuffle_figures *f = &s->figures;
    const struct nm_yarn_aux_state *t = &s->state;

    return json_pack("{s:s, s:s, s:b, s:i, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}",
                     "name", s->name, "program", t->program, "up", t->is_up, "port", (int)t->port,
                     "since_usec", (json_int_t)t->since_realtime_usec, "restarts", (json_int_t)t->restarts,
                     "trouble", trouble_of(t),
                     "applications", (json_int_t)s->applications, "connections", (json_int_t)f->connections,
                     "refused_connections", (json_int_t)f->refused, "blocks_sent", (json_int_t)f->outputs_ok,
                     "blocks_failed", (json_int_t)f->outputs_failed, "sent_bytes", (json_int_t)f->sent_bytes,
                     "executors", of_spark(s, f->executors), "streams", of_spark(s, f->streams),
                     "slow_readers", of_spark(s, f->slow), "stalled_readers", of_spark(s, f->stalled),
                     "by_application", show_top(s));
}

json_t *nm_yarn_aux_services_show(const struct nm_yarn *y)
{
    struct service all[MOST];
    const size_t n = list(y, all);
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(array, show(&all[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* ---- metrics ------------------------------------------------------------------------------ */

#define AT(member) offsetof(struct service, member)

enum which { ALL, NATIVE, SPARK }; /* NATIVE: those that are not written in Java */

static const struct family {
    const char *name, *help;
    enum nm_metric_type type;
    size_t offset;
    enum which which; /* the services that have it */
} families[] = {
    {"nm_aux_service_up", "Whether the process of the auxiliary service is listening.", NM_METRIC_GAUGE, AT(up), ALL},
    {"nm_aux_service_restarts_total", "Ends of the service's process, after each of which it is started again.",
     NM_METRIC_COUNTER, AT(state.restarts), ALL},
    {"nm_aux_service_applications", "Applications that the service knows.", NM_METRIC_GAUGE, AT(applications), ALL},
    {"nm_aux_service_connections", "Open connections of clients.", NM_METRIC_GAUGE, AT(figures.connections), NATIVE},
    {"nm_aux_service_refused_connections_total", "Connections that were refused, because a limit was reached.",
     NM_METRIC_COUNTER, AT(figures.refused), NATIVE},
    {"nm_aux_service_blocks_sent_total", "Map outputs, or blocks of Spark, that were sent.", NM_METRIC_COUNTER,
     AT(figures.outputs_ok), NATIVE},
    {"nm_aux_service_blocks_failed_total", "Map outputs, or blocks of Spark, that could not be sent.",
     NM_METRIC_COUNTER, AT(figures.outputs_failed), NATIVE},
    {"nm_aux_service_sent_bytes_total", "Bytes that were sent to clients.", NM_METRIC_COUNTER, AT(figures.sent_bytes),
     NATIVE},
    {"nm_spark_shuffle_executors", "Executors that are registered with Spark's auxiliary service.", NM_METRIC_GAUGE,
     AT(figures.executors), SPARK},
    {"nm_spark_shuffle_streams", "Streams that clients of Spark's auxiliary service have opened and not used up.",
     NM_METRIC_GAUGE, AT(figures.streams), SPARK},
    {"nm_spark_shuffle_stalled_readers", "Clients that have read nothing for 10 s.", NM_METRIC_GAUGE,
     AT(figures.stalled), SPARK},
    {"nm_spark_shuffle_slow_readers_total", "Clients that were disconnected because they read too slowly.",
     NM_METRIC_COUNTER, AT(figures.slow), SPARK},
};

/* Figures of the applications that the service has reported. The others are missing. */
static const struct usage_family {
    const char *name, *help;
    enum nm_metric_type type;
    size_t offset;
} usage_families[] = {
    {"nm_spark_shuffle_application_streams", "Open streams of the application.", NM_METRIC_GAUGE,
     offsetof(struct nm_yarn_shuffle_usage, streams)},
    {"nm_spark_shuffle_application_stalled_readers", "Clients of the application that have read nothing for 10 s.",
     NM_METRIC_GAUGE, offsetof(struct nm_yarn_shuffle_usage, stalled)},
    {"nm_spark_shuffle_application_slow_readers_total",
     "Clients of the application that were disconnected because they read too slowly.", NM_METRIC_COUNTER,
     offsetof(struct nm_yarn_shuffle_usage, slow)},
    {"nm_spark_shuffle_application_sent_bytes_total", "Bytes that were sent to clients of the application.",
     NM_METRIC_COUNTER, offsetof(struct nm_yarn_shuffle_usage, sent_bytes)},
};

static void write_usage(const struct service *s, const struct nm_metric_writer *w)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(usage_families) && s->n_top > 0; i++) {
        const struct usage_family *f = &usage_families[i];

        w->family(w->to, f->name, f->type, f->help);
        for (size_t k = 0; k < s->n_top; k++)
            w->sample(w->to, f->name, &(struct nm_metric_label){"application", s->top[k].application},
                      (double)*(const uint64_t *)((const char *)&s->top[k] + f->offset));
    }
}

static void write_sample(const struct family *f, const struct service *s, const struct nm_metric_writer *w)
{
    const double value = (double)*(const uint64_t *)((const char *)s + f->offset);

    w->sample(w->to, f->name, &(struct nm_metric_label){"service", s->name}, value);
}

/* Writes the samples of services that are written in Java. They have one process. */
static void write_hosted(const struct family *f, const struct nm_yarn_aux_host *h, const struct nm_metric_writer *w)
{
    struct nm_yarn_aux_host_figures figures;
    struct nm_bytes metadata;

    nm_yarn_aux_host_get_figures(h, &figures);
    for (size_t i = 0; i < nm_yarn_aux_host_count(h); i++) {
        struct service s = {
            .applications = figures.applications, .up = figures.is_running, .state.restarts = figures.restarts};

        (void)nm_yarn_aux_host_metadata(h, i, &s.name, &metadata);
        write_sample(f, &s, w);
    }
}

static void write_memory(const struct nm_yarn_aux_host *h, const struct nm_metric_writer *w)
{
    static const char name[] = "nm_aux_host_memory_bytes";
    struct nm_yarn_aux_host_figures figures;

    nm_yarn_aux_host_get_figures(h, &figures);
    w->family(w->to, name, NM_METRIC_GAUGE, "Resident memory of the process of auxiliary services in Java.");
    w->sample(w->to, name, NULL, (double)figures.memory_bytes);
}

void nm_yarn_aux_services_write_metrics(const struct nm_yarn *y, const struct nm_metric_writer *w)
{
    const struct nm_yarn_aux_host *host = y->services->aux_host;
    struct service all[MOST];
    const size_t n = list(y, all);
    const bool has_spark = n > 0 && all[n - 1].is_spark;

    for (size_t i = 0; i < NM_ARRAY_SIZE(families); i++) {
        const struct family *f = &families[i];

        if (f->which == SPARK ? !has_spark : n == 0 && (f->which == NATIVE || !host))
            continue;
        w->family(w->to, f->name, f->type, f->help);
        for (size_t k = 0; k < n; k++)
            if (all[k].is_spark || f->which != SPARK)
                write_sample(f, &all[k], w);
        if (f->which == ALL && host)
            write_hosted(f, host, w);
    }
    if (has_spark)
        write_usage(&all[n - 1], w);
    if (host)
        write_memory(host, w);
}
