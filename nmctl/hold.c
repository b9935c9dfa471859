/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See hold.h. nmd names the reason with a word, because it stays the same while the figures change
 * with every sample; the figures are put to it here. A word of a later nmd is shown as it is.
 */

#include "nmctl/hold.h"

#include "nmctl/json.h"
#include "util/clock.h"
#include "util/macros.h"
#include "util/parse.h"

static const struct {
    const char *hold, *text;
} fixed[] = {
    {"behind-others", "others are before it"},
    {"never-fits", "what it asks for would not fit even if no other container ran, for the rest of the system uses too "
                   "much; smaller ones pass it meanwhile"},
    {"allocation-full", "all of the node is allocated, and over-allocation is off"},
    {"no-sample", "there is no fresh measurement of the node"},
    {"uplink", "the network uplink is saturated"},
    {"draining", "the node is being drained"},
    {"waiting-for-victims", "opportunistic containers are giving way to it"},
    {"guaranteed-first", "a guaranteed container is queued"},
    {"paused-first", "what becomes free goes to paused containers first"},
    {"squeezed", "opportunistic containers are being held to a part of the CPU"},
    {"next-round", "others before it are just being started"},
    {"settling", "containers are still giving resources back"},
    {"kill-budget", "no more containers may be killed this minute"},
};

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
        len +=
            (size_t)snprintf(buf + len, size - len,
                             "%s%.0f %% of the node's %s is used or reserved, over the over-allocation threshold of "
                             "%.0f %%", len > 0 ? ", and " : "", used * 100, names[i], alpha * 100);
    }
    if (len == 0) /* it was, when nmd last looked */
        (void)snprintf(buf, size, "what is used or reserved is over the over-allocation threshold");
}

/* What would tip it depends on the request too, which isn't known here: both resources are shown.
 */
static void would_exceed_beta(const json_t *status, char *buf, size_t size)
{
    const json_t *node = nm_json_at(status, "node");

    (void)snprintf(buf, size,
                   "with it the node would go over the preemption threshold (%.0f %% of its memory is used or "
                   "reserved, where the threshold is %.0f %%, and %.0f %% of its CPU, where it is %.0f %%)",
                   nm_json_num(node, "utilization.memory") * 100,
                   nm_json_num(node, "preemption_threshold.memory") * 100,
                   nm_json_num(node, "utilization.cpu") * 100,
                   nm_json_num(node, "preemption_threshold.cpu") * 100);
}

/* The hold grows with every kill in a row: so the time left is worth telling. */
static void breaker(const json_t *status, char *buf, size_t size)
{
    uint64_t until = nm_json_u64(status, "node.breaker_until_usec"), now = nm_realtime_usec();
    char left[32];

    if (until > now)
        (void)snprintf(buf, size,
                       "nothing is admitted for another %s, after containers were killed",
                       nm_format_duration(until - now, left, sizeof left));
    else
        (void)snprintf(buf, size, "nothing is admitted for a while, after containers were killed");
}

static void surge_margin(const json_t *status, char *buf, size_t size)
{
    uint64_t until = nm_json_u64(status, "node.surge_margin_until_usec"), now = nm_realtime_usec();
    char left[32];

    (void)snprintf(buf, size,
                   "there is room now, but not in a surge of guaranteed containers as the last ones, "
                   "which cost too much work; room is kept for one for another %s",
                   until > now ? nm_format_duration(until - now, left, sizeof left) : "moment");
}

void nm_hold_text(const char *hold, const json_t *status, char *buf, size_t size)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(fixed); i++)
        if (nm_streq(hold, fixed[i].hold)) {
            (void)snprintf(buf, size, "%s", fixed[i].text);
            return;
        }
    if (nm_streq(hold, "over-alpha"))
        over_alpha(status, buf, size);
    else if (nm_streq(hold, "would-exceed-beta"))
        would_exceed_beta(status, buf, size);
    else if (nm_streq(hold, "breaker"))
        breaker(status, buf, size);
    else if (nm_streq(hold, "surge-margin"))
        surge_margin(status, buf, size);
    else if (nm_streq(hold, "unhealthy"))
        (void)snprintf(buf, size, "the node is unhealthy: %s",
                       nm_json_str(status, "node.health_reason"));
    else
        (void)snprintf(buf, size, "%s", hold);
}
