/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `nmctl status`: prints the node's state as a picture. Each resource has two bars on the same scale. One bar shows the
 * use, on which the policy is based. The other bar shows the allocation, which may exceed the capacity because of
 * over-subscription. The marks are the thresholds.
 */

#include <inttypes.h>

#include "nmctl/api.h"
#include "nmctl/aux-services.h"
#include "nmctl/container-json.h"
#include "nmctl/json.h"
#include "nmctl/log-uploads.h"
#include "nmctl/masters.h"
#include "nmctl/message.h"
#include "nmctl/nmctl.h"
#include "nmctl/screen.h"
#include "nmctl/term.h"
#include "util/clock.h"
#include "util/json-text.h"
#include "util/parse.h"

#define LABEL NM_MASTERS_INDENT /* columns of "containers   " */
#define DECISIONS 5

/* Prints the label, the first of two columns. */
static void print_label(FILE *f, const struct nm_term *term, const char *label)
{
    fprintf(f, "%s%-*s%s", nm_term_on(term, NM_STYLE_BOLD), LABEL, label,
            nm_term_off(term, NM_STYLE_BOLD));
}

/* Prints the first line: the state of the node, and its mode of operation. */
static void print_state(FILE *f, const struct nm_term *term, const json_t *node)
{
    const char *state = nm_json_str(node, "state");
    bool healthy = !nm_json_at(node, "healthy") || nm_json_bool(node, "healthy");
    enum nm_style style = !healthy                     ? NM_STYLE_BAD
                          : nm_streq(state, "running") ? NM_STYLE_GOOD
                                                       : NM_STYLE_WARN;
    uint64_t started = nm_json_u64(node, "started_usec"), now = nm_realtime_usec();
    char up[32];

    print_label(f, term, "node");
    fprintf(f, "%s%s%s%s%s, %s backend, over-allocation %s", nm_term_on(term, style), state,
            nm_streq(state, "draining") && nm_json_bool(node, "drained") ? " and empty" : "",
            healthy ? "" : ", unhealthy", nm_term_off(term, style), nm_json_str(node, "backend"),
            nm_json_bool(node, "over_allocation") ? "on" : "off");
    if (started > 0 && started < now)
        fprintf(f, ", up %s", nm_format_duration(now - started, up, sizeof up));
    (void)fputc('\n', f);
    if (!healthy)
        fprintf(f, "%*s%s%s%s\n", LABEL, "", nm_term_on(term, NM_STYLE_BAD),
                nm_json_str(node, "health_reason"), nm_term_off(term, NM_STYLE_BAD));
}

/* Prints which limits this kernel or backend doesn't enforce. These notes precede the figures, because they change the
 * meaning of the figures. */
static void print_notes(FILE *f, const struct nm_term *term, const json_t *node)
{
    const json_t *note;
    size_t i;

    json_array_foreach(nm_json_at(node, "notes"), i, note) {
        char text[512];

        (void)snprintf(text, sizeof text, "%s",
                       json_string_value(note) ? json_string_value(note) : "");
        fprintf(f, "%s%-*s%s", nm_term_on(term, NM_STYLE_WARN), LABEL, i == 0 ? "limits" : "",
                nm_term_off(term, NM_STYLE_WARN));
        fprintf(f, "%s\n", nm_term_clean(text));
    }
}

/* One resource of the node. CPU use is measured in cores, and requests are in vcores. These units differ if vcores are
 * configured independently of CPUs. */
struct gauge {
    const char *name, *label, *unit, *asked_unit;
    double capacity, used[NM_BAR_PARTS], total; /* measured, reserved, and use by other processes */
    double asked_capacity, allocated[2];
    double alpha, beta;
};

static double read_amount(const json_t *node, const char *path, bool memory, bool asked)
{
    double v = nm_json_num(nm_json_at(node, path), memory ? "memory_bytes" : asked ? "vcores" : "cpu_millicores");

    return memory || asked ? v : v / 1000;
}

static void read_gauge(struct gauge *g, const json_t *node, bool memory)
{
    *g = (struct gauge){
        .name = memory ? "memory" : "cpu",
        .label = memory ? "memory" : "CPU",
        .unit = memory ? "" : " core",
        .asked_unit = memory ? "" : " vcore",
        .capacity = read_amount(node, "capacity", memory, false),
        .used[NM_BAR_GUARANTEED] = read_amount(node, "used_by.guaranteed", memory, false),
        .used[NM_BAR_OPPORTUNISTIC] = read_amount(node, "used_by.opportunistic", memory, false),
        .used[NM_BAR_RESERVED] = read_amount(node, "reserved", memory, false),
        .used[NM_BAR_OTHERS] = read_amount(node, "used_by.others", memory, false),
        .asked_capacity = read_amount(node, "capacity", memory, true),
        .allocated[0] = read_amount(node, "allocated.guaranteed", memory, true),
        .allocated[1] = read_amount(node, "allocated.opportunistic", memory, true),
    };
    for (int i = 0; i < NM_BAR_PARTS; i++)
        g->total += g->used[i];
    g->alpha = nm_json_num(nm_json_at(node, "over_allocation_threshold"), g->name);
    g->beta = nm_json_num(nm_json_at(node, "preemption_threshold"), g->name);
}

/* Formats an amount of a resource: bytes with a unit, cores and vcores with three digits. */
static const char *amount(const struct gauge *g, double v, char *buf, size_t size)
{
    if (nm_streq(g->name, "memory"))
        return nm_format_size(v > 0 ? (uint64_t)v : 0, buf, size);
    (void)snprintf(buf, size, v >= 99.95 ? "%.0f" : v >= 9.995 ? "%.1f" : "%.2f", v);
    return buf;
}

/* Returns the share, or 0 while the capacity isn't known yet. */
static double share(double v, double capacity)
{
    return capacity > 0 && v > 0 ? v / capacity : 0;
}

/* Prints a bar and its figure. The figure has the colour of the threshold that the bar exceeds. */
static void print_bar_line(FILE *f, const struct nm_term *term, const struct gauge *g,
                           const struct nm_bar *b, const char *label, double figure, bool asked)
{
    double capacity = asked ? g->asked_capacity : g->capacity, over = asked ? 0 : share(g->total, capacity);
    enum nm_style style = !b->beta ? NM_STYLE_NONE : over >= b->beta ? NM_STYLE_BAD
                          : over >= b->alpha ? NM_STYLE_WARN : NM_STYLE_GOOD;
    const char *unit = asked ? g->asked_unit : g->unit;
    char have[32], of[32];

    print_label(f, term, label);
    nm_bar_print(b, f, term);
    fprintf(f, " %s%3.0f %%%s of %s%s%s: %s%s\n", nm_term_on(term, style), share(figure, capacity) * 100,
            nm_term_off(term, style), amount(g, capacity, of, sizeof of), unit, *unit ? nm_plural(capacity) : "",
            amount(g, figure, have, sizeof have), asked ? "" : " used");
}

/* Prints the parts of the bar, with the terms of `nmctl explain`. */
static void print_parts(FILE *f, const struct gauge *g)
{
    double containers = g->used[NM_BAR_GUARANTEED] + g->used[NM_BAR_OPPORTUNISTIC];
    char a[32], b[32], c[32], reserved[80] = "";

    if (g->used[NM_BAR_RESERVED] > 0)
        (void)snprintf(reserved, sizeof reserved, "%s reserved while they warm up, ",
                       amount(g, g->used[NM_BAR_RESERVED], b, sizeof b));
    fprintf(f, "%*s%s used by containers, %s%s used by others on the node\n", LABEL, "",
            amount(g, containers, a, sizeof a), reserved, amount(g, g->used[NM_BAR_OTHERS], c, sizeof c));
}

static void print_gauge(FILE *f, const struct nm_term *term, const struct gauge *g, double top, unsigned bar_width)
{
    struct nm_bar use = {.alpha = g->alpha, .beta = g->beta, .top = top, .width = bar_width};
    struct nm_bar allocated = {.top = top, .width = bar_width};

    for (int i = 0; i < NM_BAR_PARTS; i++)
        use.parts[i] = share(g->used[i], g->capacity);
    allocated.parts[NM_BAR_GUARANTEED] = share(g->allocated[0], g->asked_capacity);
    allocated.parts[NM_BAR_OPPORTUNISTIC] = share(g->allocated[1], g->asked_capacity);

    print_label(f, term, "");
    nm_bar_print_scale(&use, f, term);
    (void)fputc('\n', f);
    /* The figure excludes reserved amounts, so that it can't exceed the existing amount. The bar and its parts show the
     * reserved amounts. */
    print_bar_line(f, term, g, &use, g->label, g->total - g->used[NM_BAR_RESERVED], false);
    print_parts(f, g);
    print_bar_line(f, term, g, &allocated, "  allocated", g->allocated[0] + g->allocated[1], true);
}

/* Returns the scale for both resources, so that they can be compared: the largest share, rounded up to a quarter. */
static double scale_top(const struct gauge *g)
{
    double top = 1;

    for (int i = 0; i < 2; i++) {
        top = NM_MAX(top, share(g[i].allocated[0] + g[i].allocated[1], g[i].asked_capacity));
        top = NM_MAX(top, share(g[i].total, g[i].capacity));
    }
    return top > 4 ? 4 : (double)(int)((top + 0.2499) * 4) / 4;
}

/* Prints the bars in the width that labels and figures leave, within limits. */
static void print_gauges(FILE *f, const struct nm_term *term, unsigned width, const json_t *node)
{
    unsigned bar_width = width > LABEL + 58 ? NM_MIN(width - LABEL - 38, 150u) : 20;
    struct gauge g[2];
    double top;

    read_gauge(&g[0], node, true);
    read_gauge(&g[1], node, false);
    top = scale_top(g);
    print_gauge(f, term, &g[0], top, bar_width);
    print_gauge(f, term, &g[1], top, bar_width);
    print_label(f, term, "");
    nm_bar_print_legend(f, term);
    fprintf(f, "\n%*s%s over-allocation threshold  %s preemption threshold%s\n", LABEL, "",
            term->utf8 ? "α" : "a", term->utf8 ? "β" : "b", top > 1 ? "  C capacity" : "");
}

/* Prints the numbers of containers and why the queue waits. first: the head of the queue, or NULL. */
static void print_counts(FILE *f, const struct nm_term *term, const json_t *status, const json_t *first)
{
    const json_t *c = nm_json_at(status, "containers"), *p = nm_json_at(status, "preemptions");
    const char *reason = nm_json_str(status, "queue.hold.reason"),
               *head = nm_json_str(status, "queue.hold.container_id");
    char why[1024], reclaimed[32], preparing[48] = "";

    if (nm_json_u64(c, "preparing") > 0)
        (void)snprintf(preparing, sizeof preparing, ", %" PRIu64 " being prepared", nm_json_u64(c, "preparing"));
    print_label(f, term, "containers");
    fprintf(f,
            "%" PRIu64 " guaranteed, %" PRIu64 " opportunistic, %" PRIu64 " paused, %" PRIu64
            " queued%s, %" PRIu64 " ended\n",
            nm_json_u64(c, "guaranteed_running"), nm_json_u64(c, "opportunistic_running"),
            nm_json_u64(c, "paused"), nm_json_u64(c, "queued"), preparing, nm_json_u64(c, "completed"));
    print_label(f, term, "queue");
    nm_queue_reason_text(reason, first, status, why, sizeof why);
    fprintf(f, "%" PRIu64 " of %" PRIu64 "%s%s%s%s\n", nm_json_u64(status, "queue.length"),
            nm_json_u64(status, "queue.max_length"), *why ? "; " : "", *why ? *head ? head : "its head" : "",
            *why ? " is queued: " : "", nm_term_clean(why));
    print_label(f, term, "preemptions");
    fprintf(f, "%" PRIu64 " paused, %" PRIu64 " resumed, %" PRIu64 " killed, %s reclaimed\n",
            nm_json_u64(p, "paused"), nm_json_u64(p, "resumed"), nm_json_u64(p, "killed"),
            nm_format_size(nm_json_u64(p, "reclaimed_bytes"), reclaimed, sizeof reclaimed));
}

/* Prints the age of the sample, because old figures look like new figures. The age is red if rounds have been
 * missed. */
static void print_sample(FILE *f, const struct nm_term *term, const json_t *node)
{
    uint64_t age = nm_json_u64(node, "sample.age_usec"),
             period = nm_json_u64(node, "sample.period_usec");
    bool stale = !nm_json_has(node, "sample.age_usec") || (period > 0 && age > 3 * period);
    char a[32], b[32], c[32];

    print_label(f, term, "sample");
    if (!nm_json_has(node, "sample.age_usec"))
        fprintf(f, "%snone yet: no containers are admitted%s", nm_term_on(term, NM_STYLE_BAD),
                nm_term_off(term, NM_STYLE_BAD));
    else
        fprintf(f, "%s%s old%s", nm_term_on(term, stale ? NM_STYLE_BAD : NM_STYLE_NONE),
                nm_format_duration(age, a, sizeof a),
                nm_term_off(term, stale ? NM_STYLE_BAD : NM_STYLE_NONE));
    fprintf(f, ", every %s, cost %s", nm_format_duration(period, b, sizeof b),
            nm_format_duration(nm_json_u64(node, "sample.cost_usec"), c, sizeof c));
    if (nm_json_has(node, "pressure"))
        fprintf(f, "; pressure: processes waited for memory in %.1f %% of the last 10 s, for CPU in %.1f %%",
                nm_json_num(node, "pressure.memory_some_avg10"),
                nm_json_num(node, "pressure.cpu_some_avg10"));
    (void)fputc('\n', f);
}

/* Formats a time without the date if it is today. */
static void format_since(uint64_t since_usec, uint64_t now_usec, char *buf, size_t size)
{
    time_t t = (time_t)(since_usec / NM_USEC_PER_SEC), now = (time_t)(now_usec / NM_USEC_PER_SEC);
    struct tm tm, today;

    buf[0] = '\0';
    if (localtime_r(&t, &tm) && localtime_r(&now, &today))
        (void)strftime(buf, size, tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year ? "%T" : "%F %T", &tm);
}

/* Prints whether the node is empty and could be removed from a cluster or returned to its provider. */
static void print_removable(FILE *f, const struct nm_term *term, const json_t *node)
{
    uint64_t now = nm_realtime_usec(), since = nm_json_u64(node, "removable_since_usec");
    char when[32], passed[32];

    if (since == 0)
        return;
    format_since(since, now, when, sizeof when);
    print_label(f, term, "removable");
    fprintf(f, "since %s (no containers for %s)\n", when,
            nm_format_duration(nm_sub_u64(now, since), passed, sizeof passed));
}

/* Prints the size of the node in the cluster and its real size, if the cluster overrides the size. */
static void print_size(FILE *f, const json_t *status)
{
    const json_t *node = nm_json_at(status, "node"), *upstream = nm_json_at(status, "upstream");
    const json_t *configured = nm_json_at(node, "configured"), *machine = nm_json_at(node, "machine");
    char wanted[32], own[32], total[32];

    if (!nm_json_has(upstream, "memory_bytes"))
        return;
    fprintf(f,
            "%*sthe cluster has set %s and %" PRIu64 " vcore%s for this node; configured are %s and %g vcore%s; the "
            "host has %s and %" PRIu64 " CPU%s\n", LABEL, "",
            nm_format_size(nm_json_u64(upstream, "memory_bytes"), wanted, sizeof wanted),
            nm_json_u64(upstream, "vcores"), nm_plural(nm_json_num(upstream, "vcores")),
            nm_format_size(nm_json_u64(configured, "memory_bytes"), own, sizeof own), nm_json_num(configured, "vcores"),
            nm_plural(nm_json_num(configured, "vcores")),
            nm_format_size(nm_json_u64(machine, "memory_total_bytes"), total, sizeof total),
            nm_json_u64(machine, "cpus"), nm_plural(nm_json_num(machine, "cpus")));
}

static void print_why(FILE *f, const json_t *upstream, const char *key)
{
    char why[1024];

    if (!nm_json_has(upstream, key))
        return;
    (void)snprintf(why, sizeof why, "%s", nm_json_str(upstream, key));
    fprintf(f, "%*s%s\n", LABEL, "", nm_term_clean(why));
}

/* Prints the cluster that the node belongs to. Prints an unhealthy node as such next to "running", because the cluster
 * assigns no containers to it. */
static void print_upstream(FILE *f, const struct nm_term *term, const json_t *u)
{
    const char *kind = nm_json_str(u, "kind"), *state = nm_json_str(u, "state");
    const bool is_unhealthy = nm_json_has(u, "unhealthy");
    enum nm_style style = nm_streq(state, "running") && !is_unhealthy ? NM_STYLE_GOOD : NM_STYLE_WARN;
    uint64_t now = nm_realtime_usec(), heartbeat_usec = nm_json_u64(u, "last_heartbeat_usec");
    char ago[32], trip[32];

    if (!*kind)
        return;
    print_label(f, term, "upstream");
    fprintf(f, "%s, %s%s%s%s: ", kind, nm_term_on(term, style), state, is_unhealthy ? ", reported as unhealthy" : "",
            nm_term_off(term, style));
    fprintf(f, "%s at %s", nm_json_has(u, "node") ? nm_json_str(u, "node") : "this node", nm_json_str(u, "address"));
    if (heartbeat_usec > 0)
        fprintf(f, "; heartbeat %s ago, answered in %s",
                nm_format_duration(nm_sub_u64(now, heartbeat_usec), ago, sizeof ago),
                nm_format_duration(nm_json_u64(u, "round_trip_usec"), trip, sizeof trip));
    (void)fputc('\n', f);
    print_why(f, u, "trouble");
    print_why(f, u, "unhealthy");
}

/* Prints how much of each countable resource the containers of the cluster have. */
static void print_resources(FILE *f, const struct nm_term *term, const json_t *resources)
{
    const json_t *one;
    char name[160];
    size_t i;

    json_array_foreach(resources, i, one) {
        const char *units = nm_json_str(one, "units");

        print_label(f, term, i == 0 ? "resources" : "");
        (void)snprintf(name, sizeof name, "%s", nm_json_str(one, "name"));
        fprintf(f, "%s: %" PRIu64 "%s of %" PRIu64 "%s allocated", nm_term_clean(name),
                nm_json_u64(one, "guaranteed") + nm_json_u64(one, "opportunistic"), units, nm_json_u64(one, "amount"),
                units);
        if (nm_json_u64(one, "opportunistic") > 0)
            fprintf(f, ", %" PRIu64 "%s of them to opportunistic containers", nm_json_u64(one, "opportunistic"), units);
        (void)fputc('\n', f);
    }
}

/* Prints the GPUs of the node with the containers that have them. */
static void print_gpus(FILE *f, const struct nm_term *term, const json_t *gpus)
{
    const json_t *one;
    char id[160];
    size_t i;

    if (!json_is_object(gpus))
        return;
    print_label(f, term, "GPUs");
    json_array_foreach(nm_json_at(gpus, "devices"), i, one) {
        (void)snprintf(id, sizeof id, "%s", nm_json_str(one, "container"));
        fprintf(f, "%s%" PRIu64 ": %s", i > 0 ? ", " : "", nm_json_u64(one, "index"),
                *id                          ? nm_term_clean(id)
                : nm_json_bool(one, "assigned") ? "in use"
                                                : "free");
    }
    fprintf(f, "%s%s\n", i == 0 ? "none" : "", nm_json_bool(gpus, "isolated") ? "" : "; not isolated");
    print_why(f, gpus, "trouble");
}

/* Prints the auxiliary services that are written in Java, and the state of their process. */
static void print_aux_host(FILE *f, const struct nm_term *term, const json_t *host)
{
    const char *state = nm_json_str(host, "state");
    const bool is_good = nm_streq(state, "running");
    const enum nm_style style = is_good ? NM_STYLE_GOOD : NM_STYLE_BAD;
    char used[32], most[32], name[160];
    const json_t *one;
    size_t i;

    if (!json_is_object(host))
        return;
    print_label(f, term, "services");
    json_array_foreach(nm_json_at(host, "services"), i, one) {
        (void)snprintf(name, sizeof name, "%s", nm_json_str(one, "name"));
        fprintf(f, "%s%s", i > 0 ? ", " : "", nm_term_clean(name));
    }
    fprintf(f, " in Java: %s%s%s", nm_term_on(term, style), state, nm_term_off(term, style));
    if (nm_json_u64(host, "memory_bytes") > 0)
        fprintf(f, ", %s", nm_format_size(nm_json_u64(host, "memory_bytes"), used, sizeof used));
    if (nm_json_u64(host, "memory_bytes") > 0 && nm_json_u64(host, "memory_max_bytes") > 0)
        fprintf(f, " of %s", nm_format_size(nm_json_u64(host, "memory_max_bytes"), most, sizeof most));
    else if (nm_json_u64(host, "memory_bytes") > 0)
        fprintf(f, " (heap at most %s)", nm_format_size(nm_json_u64(host, "heap_max_bytes"), most, sizeof most));
    if (nm_json_u64(host, "restarts") > 0)
        fprintf(f, ", restarted %" PRIu64 " time%s", nm_json_u64(host, "restarts"),
                nm_plural((double)nm_json_u64(host, "restarts")));
    (void)fputc('\n', f);
    if (!is_good)
        print_why(f, host, "trouble");
}

static void print_set(FILE *f, const json_t *set)
{
    const char *name;
    char text[300];
    json_t *value;
    size_t i;

    if (json_array_size(set) + json_object_size(set) == 0)
        fprintf(f, "%s", set && !json_is_null(set) ? "none" : "not known yet");
    json_array_foreach(set, i, value) {
        (void)snprintf(text, sizeof text, "%s%s", i > 0 ? ", " : "", json_string_value(value));
        fprintf(f, "%s", nm_term_clean(text));
    }
    i = 0;
    json_object_foreach((json_t *)(uintptr_t)set, name, value) {
        (void)snprintf(text, sizeof text, "%s%s=%s", i++ > 0 ? ", " : "", name, json_string_value(value));
        fprintf(f, "%s", nm_term_clean(text));
    }
}

/* Prints the labels or the attributes that the node reports to the cluster, and whether the cluster accepts them.
 * label: also the name of the member with them. */
static void print_described(FILE *f, const struct nm_term *term, const json_t *d, const char *label)
{
    const char *state = nm_json_str(d, "state");
    const bool is_good = nm_streq(state, "accepted");
    const enum nm_style style = is_good ? NM_STYLE_GOOD : NM_STYLE_WARN;

    if (!json_is_object(d))
        return;
    print_label(f, term, label);
    print_set(f, nm_json_at(d, label));
    fprintf(f, "; %s%s%s\n", nm_term_on(term, style),
            is_good                       ? "accepted by the cluster"
            : nm_streq(state, "refused") ? "refused by the cluster"
                                          : "not accepted by the cluster yet",
            nm_term_off(term, style));
    print_why(f, d, "refusal");
    print_why(f, d, "trouble");
}

static void print_drain(FILE *f, const struct nm_term *term, const json_t *node)
{
    uint64_t now = nm_realtime_usec(), deadline = nm_json_u64(node, "drain_deadline_usec");
    bool until_restart = nm_json_bool(node, "drain_until_restart");
    char left[32];

    if (deadline <= now && !until_restart)
        return;
    print_label(f, term, "drain");
    if (deadline > now)
        fprintf(f, "containers that are still running %s from now will be killed%s",
                nm_format_duration(deadline - now, left, sizeof left), until_restart ? "; " : "");
    fprintf(f, "%s\n", until_restart ? "draining ends when nmd is stopped" : "");
}

/* Prints lines for measures that are currently active. */
static void print_measures(FILE *f, const struct nm_term *term, const json_t *status)
{
    const json_t *node = nm_json_at(status, "node");
    const json_t *link;
    char left[32];
    size_t i;

    if (nm_json_has(node, "squeeze_millicores")) {
        print_label(f, term, "squeeze");
        fprintf(f, "opportunistic containers together are limited to %.1f core%s\n",
                nm_json_num(node, "squeeze_millicores") / 1000,
                nm_plural(nm_json_num(node, "squeeze_millicores") / 1000));
    }
    print_drain(f, term, node);
    if (nm_json_has(node, "needs_restart")) {
        print_label(f, term, "restart");
        fprintf(f, "a restart of nmd is needed for %s\n", nm_json_str(node, "needs_restart"));
    }
    print_removable(f, term, node);
    json_array_foreach(nm_json_at(node, "links"), i, link) {
        if (!nm_json_bool(link, "uplink"))
            continue;
        print_label(f, term, "uplink");
        fprintf(f, "%s: ", nm_json_str(link, "name"));
        fprintf(f, "in %s/s, ",
                nm_format_size(nm_json_u64(link, "rx_bytes_per_second"), left, sizeof left));
        fprintf(f, "out %s/s",
                nm_format_size(nm_json_u64(link, "tx_bytes_per_second"), left, sizeof left));
        if (nm_json_has(link, "speed_mbit"))
            fprintf(f, ", %.0f %% of %" PRIu64 " Mbit/s", nm_json_num(link, "utilization") * 100,
                    nm_json_u64(link, "speed_mbit"));
        (void)fputc('\n', f);
    }
    print_upstream(f, term, nm_json_at(status, "upstream"));
    print_size(f, status);
    print_resources(f, term, nm_json_at(status, "upstream.resources"));
    print_gpus(f, term, nm_json_at(status, "upstream.gpus"));
    print_aux_host(f, term, nm_json_at(status, "upstream.aux_host"));
    print_described(f, term, nm_json_at(status, "upstream.node_labels"), "labels");
    print_described(f, term, nm_json_at(status, "upstream.node_attributes"), "attributes");
    nm_aux_services_print(f, term, nm_json_at(status, "upstream.services"));
    nm_masters_print(f, term, nm_json_at(status, "upstream.masters"));
    nm_log_uploads_print(f, term, nm_json_at(status, "upstream.logs"));
}

/* Prints one line for each decision. nmctl explain prints the details. */
static void print_decisions(FILE *f, const struct nm_term *term, const json_t *decisions)
{
    const json_t *list = nm_json_at(decisions, "decisions"), *d;
    size_t i;

    if (json_array_size(list) == 0)
        return;
    fprintf(f, "\n%sLast decisions%s\n", nm_term_on(term, NM_STYLE_BOLD),
            nm_term_off(term, NM_STYLE_BOLD));
    json_array_foreach(list, i, d) {
        time_t t = (time_t)(nm_json_u64(d, "time_usec") / NM_USEC_PER_SEC);
        char when[16] = "", text[1024];
        struct tm tm;

        if (localtime_r(&t, &tm))
            (void)strftime(when, sizeof when, "%H:%M:%S", &tm);
        (void)snprintf(text, sizeof text, "%s", nm_json_str(d, "summary"));
        fprintf(f, "  %s%s%s  %s\n", nm_term_on(term, NM_STYLE_DIM), when, nm_term_off(term, NM_STYLE_DIM),
                nm_term_clean(text));
    }
}

/* Prints the lines about the node first, then the details. Without a terminal, bars have a fixed width and sentences
 * aren't wrapped. */
static void print_lines(FILE *f, const struct nm_term *term, const json_t *status, const json_t *first,
                        const json_t *decisions)
{
    const json_t *node = nm_json_at(status, "node");
    unsigned width = term->width > 0 ? term->width : 100;

    print_state(f, term, node);
    print_notes(f, term, node);
    print_gauges(f, term, width, node);
    (void)fputc('\n', f);
    print_counts(f, term, status, first);
    print_sample(f, term, node);
    print_measures(f, term, status);
    print_decisions(f, term, decisions);
}

/* Prints into memory and wraps the lines between words here, because of the functions above only those for bars know
 * the width. */
static void print_status(FILE *to, const struct nm_term *term, const json_t *status, const json_t *first,
                         const json_t *decisions)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        nm_message_oom();
    print_lines(f, term, status, first, decisions);
    if (fclose(f) != 0)
        nm_message_oom();
    (void)nm_term_wrap(to, text, term->width, LABEL);
    free(text);
}

/* Gets the head of the queue if the text of the queue reason needs the request of the head. Returns NULL if the text
 * doesn't need the request, or if the container is unavailable. */
static json_t *get_first(struct nm_ctl *ctl, const json_t *status)
{
    const char *id = nm_json_str(status, "queue.hold.container_id");
    json_t *c = NULL;
    char target[128];

    if (*id && nm_streq(nm_json_str(status, "queue.hold.reason"), "would-exceed-beta") &&
        nm_api_container_target(id, "", target, sizeof target) == NM_CTL_OK)
        (void)nm_api_try_get(ctl, target, NM_API_TIMEOUT_USEC, &c);
    return c;
}

/* Draws one picture. Fails only if the status is missing; decisions are optional. */
static int draw(struct nm_ctl *ctl, FILE *f, const struct nm_term *term, void *userdata)
{
    _cleanup_json_ json_t *status = NULL, *first = NULL, *decisions = NULL;
    char target[64];
    int r = nm_api_get(ctl, "/v1/status", &status);

    (void)userdata;
    if (r != NM_CTL_OK)
        return r;
    if (ctl->args.json) {
        _cleanup_free_ char *text = nm_json_text(status, JSON_COMPACT | JSON_REAL_PRECISION(12));

        if (!text)
            nm_message_oom();
        (void)fprintf(f, "%s\n", text);
        return NM_CTL_OK;
    }
    (void)snprintf(target, sizeof target, "/v1/decisions?limit=%d", DECISIONS);
    (void)nm_api_try_get(ctl, target, NM_API_TIMEOUT_USEC, &decisions);
    first = get_first(ctl, status);
    print_status(f, term, status, first, decisions);
    return NM_CTL_OK;
}

/* Prints the status. Gets the decisions with a separate call, because they are optional. */
int nm_status_verb(struct nm_ctl *ctl)
{
    uint64_t period =
        ctl->args.interval_usec == NM_CTL_UNSET ? NM_SCREEN_PERIOD_USEC : ctl->args.interval_usec;
    _cleanup_json_ json_t *status = NULL;
    struct nm_term term;
    int r;

    if (ctl->args.watch)
        return nm_screen_run(ctl, &period, draw, NULL, NULL);
    if (ctl->args.json) {
        r = nm_api_get(ctl, "/v1/status", &status);
        if (r == NM_CTL_OK)
            nm_api_print_json(status, false);
        return r;
    }
    nm_term_init(&term, STDOUT_FILENO, ctl->args.no_color);
    return draw(ctl, stdout, &term, NULL);
}
