/* SPDX-License-Identifier: Apache-2.0 */

/* See over-beta.h. The reasons are checked in the same order as in the policy (policy-preempt.c). */

#include "agent/node/over-beta.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "util/parse.h"

/* Less memory than this is not taken back from a container. Must equal NM_LEAST_MEMORY_BYTES of the policy. */
#define LEAST_BYTES NM_MIB

struct text {
    char *buf;
    size_t size;
};

static nm_printf(2, 3) void add(struct text *t, const char *format, ...)
{
    size_t len = strlen(t->buf);
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(t->buf + len, t->size - len, format, ap);
    va_end(ap);
}

static double share(uint64_t bytes, uint64_t capacity)
{
    return 100 * (double)bytes / (double)NM_MAX(capacity, UINT64_C(1));
}

static void add_figures(struct text *t, const struct nm_over_beta *o)
{
    uint64_t capacity = o->settings->capacity.memory_bytes;
    char used[32], whole[32];

    add(t, "Memory used or reserved is %s of %s (%.1f %%), above the preemption threshold of %.0f %%, but nmd takes "
           "no memory back: ",
        nm_format_size(o->used_bytes, used, sizeof used), nm_format_size(capacity, whole, sizeof whole),
        share(o->used_bytes, capacity), 100 * o->settings->preemption_threshold.memory);
}

static void add_no_victim(struct text *t, const struct nm_over_beta *o)
{
    char guaranteed[32], others[32];

    add(t, "no opportunistic container holds memory that can be taken back. Guaranteed containers use %s, which they "
           "keep, and other processes on the node use %s. ",
        nm_format_size(o->guaranteed_bytes, guaranteed, sizeof guaranteed),
        nm_format_size(o->others_bytes, others, sizeof others));
    add(t, "To make room, end processes outside of nmd's containers, or a guaranteed container.");
}

static bool add_reason(struct text *t, const struct nm_over_beta *o, uint64_t beta)
{
    const struct nm_policy_settings *s = o->settings;
    char size[32];

    if (o->stale)
        add(t, "there is no fresh sample of the node, and without a fresh sample nmd takes no memory back. nmd's log "
               "has the reason.");
    else if (o->shadow)
        add(t, "the node is in shadow mode, in which nmd records decisions to take memory back, but does not carry "
               "them out ('nmctl explain').");
    else if (!s->over_allocation)
        add(t, "over-allocation is off ([over-allocation] enabled), so containers keep the resources of their "
               "requests.");
    else if (o->in_use_bytes <= beta)
        add(t, "only %s of it is in use. The rest is reserved for containers that have just started, and no container "
               "is ended for a reservation.", nm_format_size(o->in_use_bytes, size, sizeof size));
    else if (o->ending_bytes > 0)
        add(t, "%s are being freed already, by containers that are being ended or put into swap.",
            nm_format_size(o->ending_bytes, size, sizeof size));
    else if (o->takeable_bytes < LEAST_BYTES)
        add_no_victim(t, o);
    else if (o->kills_last_minute >= s->kills_per_minute)
        add(t, "%u containers were ended within the last minute, and [preemption] kills-per-minute allows no more.",
            o->kills_last_minute);
    else if (o->preempt_wait_reason == NM_REASON_SETTLING)
        add(t, "some samples must first show the memory that was taken back last.");
    else
        return false;
    return true;
}

bool nm_over_beta_explain(const struct nm_over_beta *o, char *buf, size_t size)
{
    const struct nm_policy_settings *s = o->settings;
    uint64_t beta = (uint64_t)((double)s->capacity.memory_bytes * s->preemption_threshold.memory);
    struct text t = {buf, size};

    assert(size > 0);
    buf[0] = '\0';
    if (o->used_bytes <= beta)
        return false;
    add_figures(&t, o);
    if (add_reason(&t, o, beta))
        return true;
    buf[0] = '\0';
    return false;
}
