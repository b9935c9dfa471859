/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See container-json.h. nmd sends the reason as a keyword, which stays the same while figures change with every
 * sample. This file adds the current figures. An unknown keyword of a newer nmd is printed unchanged.
 */

#include "nmctl/container-json.h"

#include "nmctl/json.h"
#include "util/clock.h"
#include "util/macros.h"
#include "util/parse.h"

static const struct {
    const char *reason, *text;
} fixed[] = {
    {"behind-others", "other containers are before it"},
    {"allocation-full", "all of the node is allocated, and over-allocation is off"},
    {"no-sample", "there is no fresh measurement of the node"},
    {"uplink", "the network uplink is saturated"},
    {"draining", "the node is being drained"},
    {"waiting-for-victims", "opportunistic containers are being paused or killed to free resources for it"},
    {"guaranteed-first", "a guaranteed container is queued"},
    {"paused-first", "paused containers get freed resources first"},
    {"squeezed", "opportunistic containers are limited to a part of the CPU"},
    {"next-round", "containers before it are being started"},
    {"settling", "containers are still freeing resources"},
    {"kill-budget", "no more containers may be killed this minute"},
};

/* Adds the part of the use that is only reserved for starting containers and isn't used yet. nmd ends the reservation
 * after the warm-up. */
static void add_reserved(const json_t *node, bool memory, char *buf, size_t size)
{
    const char *amount = memory ? "memory_bytes" : "cpu_millicores";
    double capacity = nm_json_num(nm_json_at(node, "capacity"), amount);
    uint64_t for_usec = nm_json_u64(node, "warmup_usec"); /* 0: an older nmd doesn't send this time */
    double reserved = capacity > 0 ? nm_json_num(nm_json_at(node, "reserved"), amount) / capacity : 0;
    size_t len = strlen(buf);
    char warmup[32];

    if (reserved < 0.005 || for_usec == 0 || len >= size)
        return;
    (void)snprintf(buf + len, size - len, " (%.0f %% is only reserved, for up to %s after a start, until the use of "
                                          "the started containers is known)", reserved * 100,
                   nm_format_duration(for_usec, warmup, sizeof warmup));
}

/* Writes "82 % of the node's memory is used or reserved, over ..." for each resource that is over alpha. */
static void over_alpha(const json_t *status, char *buf, size_t size)
{
    static const char *const resources[] = {"memory", "cpu"}, *const names[] = {"memory", "CPU"};
    const json_t *node = nm_json_at(status, "node");
    size_t len = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < 2 && len < size; i++) {
        double used = nm_json_num(nm_json_at(node, "utilization"), resources[i]);
        double alpha = nm_json_num(nm_json_at(node, "over_allocation_threshold"), resources[i]);

        if (used < alpha || alpha <= 0)
            continue;
        (void)snprintf(buf + len, size - len,
                       "%s%.0f %% of the node's %s is used or reserved, over the over-allocation threshold of "
                       "%.0f %%", len > 0 ? ", and " : "", used * 100, names[i], alpha * 100);
        add_reserved(node, i == 0, buf, size);
        len = strlen(buf);
    }
    if (len == 0) /* the use was over alpha at nmd's last round, but no longer is */
        (void)snprintf(buf, size, "the sum of used and reserved resources is over the over-allocation threshold");
}

/* Formats the container's request: "3.7 GiB", "1 vcore". */
static void asked(const json_t *c, bool memory, char *buf, size_t size)
{
    double vcores = nm_json_num(c, "vcores");

    if (memory)
        (void)nm_format_size(nm_json_u64(c, "memory_bytes"), buf, size);
    else
        (void)snprintf(buf, size, "%g vcore%s", vcores, nm_plural(vcores));
}

/* Formats the text of nmd's decision with current figures: "memory is at 71 % of capacity, and with the 3.7 GiB that it
 * asks for would be at 106.2 %, over the limit of 95 %". Returns whether this statement is still true. */
static bool would_exceed(const json_t *node, const json_t *c, bool memory, char *buf, size_t size)
{
    const char *key = memory ? "memory" : "cpu", *amount = memory ? "memory_bytes" : "cpu_millicores";
    double capacity = nm_json_num(nm_json_at(node, "capacity"), amount);
    double request = nm_json_num(c, memory ? "memory_bytes" : "cpu_request_millicores");
    double limit = nm_json_num(nm_json_at(node, "preemption_threshold"), key);
    double is = nm_json_num(nm_json_at(node, "utilization"), key);
    double after = capacity > 0 ? is + request / capacity : 0;
    char a[32], b[32], d[32], what[48];

    if (request <= 0 || limit <= 0 || after <= limit)
        return false;
    asked(c, memory, what, sizeof what);
    (void)snprintf(buf, size, "%s%s is at %s of capacity, and with the %s that it asks for would be at %s, over the "
                   "limit of %s", memory ? "memory" : "CPU",
                   nm_json_num(nm_json_at(node, "reserved"), amount) > 0 ? " used or reserved" : "",
                   nm_format_percent(is, -1, a, sizeof a), what, nm_format_percent(after, limit, b, sizeof b),
                   nm_format_percent(limit, -1, d, sizeof d));
    add_reserved(node, memory, buf, size);
    return true;
}

/* Formats the reason if the container's request isn't known, or if the figures have changed since nmd's last round. */
static void would_exceed_beta(const json_t *status, const json_t *c, char *buf, size_t size)
{
    const json_t *node = nm_json_at(status, "node");
    char memory[32], cpu[32], limit[32], cpu_limit[32];

    if (would_exceed(node, c, true, buf, size) || would_exceed(node, c, false, buf, size))
        return;
    (void)snprintf(buf, size, "with its request the node would exceed a limit: without it, memory is at %s of capacity "
                              "(limit %s) and CPU at %s (limit %s)",
                   nm_format_percent(nm_json_num(node, "utilization.memory"), -1, memory, sizeof memory),
                   nm_format_percent(nm_json_num(node, "preemption_threshold.memory"), -1, limit, sizeof limit),
                   nm_format_percent(nm_json_num(node, "utilization.cpu"), -1, cpu, sizeof cpu),
                   nm_format_percent(nm_json_num(node, "preemption_threshold.cpu"), -1, cpu_limit, sizeof cpu_limit));
}

/* The use of one resource by other processes of the node and the container's request, in the unit of the resource, as
 * in nmd's status. */
struct alone {
    bool memory;
    double capacity, others, request, limit; /* limit: share of the capacity */
};

static struct alone alone_in(const json_t *node, const json_t *c, bool memory)
{
    const char *amount = memory ? "memory_bytes" : "cpu_millicores";

    return (struct alone){
        .memory = memory,
        .capacity = nm_json_num(nm_json_at(node, "capacity"), amount),
        .others = nm_json_num(nm_json_at(nm_json_at(node, "used_by"), "others"), amount),
        .request = nm_json_num(c, memory ? "memory_bytes" : "cpu_request_millicores"),
        .limit = nm_json_num(nm_json_at(node, "preemption_threshold"), memory ? "memory" : "cpu"),
    };
}

/* Returns whether the request would not fit in this resource even if no other container were running. */
static bool fails_alone(const struct alone *a)
{
    return a->request > 0 && a->limit > 0 && a->capacity > 0 &&
           (a->others >= a->limit * a->capacity || a->others + a->request > a->capacity);
}

/* Formats "up to 1.9 vcores fit", rounded down, so that the user can copy the figure. other: the other resource. */
static void what_fits(const struct alone *a, const struct alone *other, const json_t *c, char *buf, size_t size)
{
    double room = a->limit * a->capacity - a->others;
    double vcores = a->request > 0 ? room * nm_json_num(c, "vcores") / a->request : room / 1000;
    char text[32], fits[64];

    if (room < 1 || (!a->memory && vcores < 0.01)) {
        (void)snprintf(buf, size, "no request fits until others use less");
        return;
    }
    vcores = (double)(uint64_t)(vcores * 100 + 1e-6) / 100;
    if (fails_alone(other))
        (void)snprintf(fits, sizeof fits, "%s would not suffice, either", other->memory ? "memory" : "CPU");
    else if (a->memory)
        (void)snprintf(fits, sizeof fits, "up to %s fits", nm_format_size_down((uint64_t)room, text, sizeof text));
    else
        (void)snprintf(fits, sizeof fits, "up to %g vcore%s fit%s", vcores, nm_plural(vcores), vcores == 1 ? "s" : "");
    (void)snprintf(buf, size, "%s; smaller containers pass it meanwhile", fits);
}

/* Formats the text of nmd's decision with current figures. */
static void would_not_fit_alone(const struct alone *a, const struct alone *other, const json_t *c, char *buf,
                                size_t size)
{
    char after[32], limit[32], what[48], used[80], fits[128], others[32], of[32];

    asked(c, a->memory, what, sizeof what);
    if (a->memory)
        (void)snprintf(used, sizeof used, "of %s, %s are", nm_format_size((uint64_t)a->capacity, of, sizeof of),
                       nm_format_size((uint64_t)a->others, others, sizeof others));
    else
        (void)snprintf(used, sizeof used, "of %g cores, %.2f are", a->capacity / 1000, a->others / 1000);
    what_fits(a, other, c, fits, sizeof fits);
    (void)snprintf(buf, size, "with the %s%s that it asks for, it would not fit even if no other container ran: %s "
                   "would be at %s, over the limit of %s (%s used by others on the node); %s",
                   what, a->memory ? " of memory" : "", a->memory ? "memory" : "CPU",
                   nm_format_percent((a->others + a->request) / a->capacity, a->limit, after, sizeof after),
                   nm_format_percent(a->limit, -1, limit, sizeof limit), used, fits);
}

/* Formats the reason, without figures if the request isn't known or if the figures have changed since nmd's last
 * round. */
static void never_fits(const json_t *status, const json_t *c, char *buf, size_t size)
{
    const json_t *node = nm_json_at(status, "node");
    const struct alone memory = alone_in(node, c, true), cpu = alone_in(node, c, false);

    if (fails_alone(&memory))
        would_not_fit_alone(&memory, &cpu, c, buf, size);
    else if (fails_alone(&cpu))
        would_not_fit_alone(&cpu, &memory, c, buf, size);
    else
        (void)snprintf(buf, size, "its request would not fit beside the use of other processes even if no other "
                       "container ran; smaller containers pass it meanwhile");
}

/* Formats the stop of admissions by the breaker, with its remaining time, because the stop becomes longer with every
 * consecutive kill. */
static void breaker(const json_t *status, char *buf, size_t size)
{
    uint64_t until = nm_json_u64(status, "node.breaker_until_usec"), now = nm_realtime_usec();
    char left[32];

    if (until > now)
        (void)snprintf(buf, size,
                       "no opportunistic containers are admitted for another %s, because containers were killed",
                       nm_format_duration(until - now, left, sizeof left));
    else
        (void)snprintf(buf, size, "no opportunistic containers are admitted for some time, because containers were "
                                  "killed");
}

static void surge_margin(const json_t *status, char *buf, size_t size)
{
    uint64_t until = nm_json_u64(status, "node.surge_margin_until_usec"), now = nm_realtime_usec();
    char left[32];

    (void)snprintf(buf, size,
                   "there is room now, but nmd keeps it free for another %s, because earlier surges of guaranteed "
                   "containers destroyed too much opportunistic work",
                   until > now ? nm_format_duration(until - now, left, sizeof left) : "moment");
}

void nm_queue_reason_text(const char *reason, const json_t *c, const json_t *status, char *buf, size_t size)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(fixed); i++)
        if (nm_streq(reason, fixed[i].reason)) {
            (void)snprintf(buf, size, "%s", fixed[i].text);
            return;
        }
    if (nm_streq(reason, "over-alpha"))
        over_alpha(status, buf, size);
    else if (nm_streq(reason, "would-exceed-beta"))
        would_exceed_beta(status, c, buf, size);
    else if (nm_streq(reason, "never-fits"))
        never_fits(status, c, buf, size);
    else if (nm_streq(reason, "breaker"))
        breaker(status, buf, size);
    else if (nm_streq(reason, "surge-margin"))
        surge_margin(status, buf, size);
    else if (nm_streq(reason, "unhealthy"))
        (void)snprintf(buf, size, "the node is unhealthy: %s",
                       nm_json_str(status, "node.health_reason"));
    else
        (void)snprintf(buf, size, "%s", reason);
}
