/* SPDX-License-Identifier: Apache-2.0 */

/* See agent/status.h: how often an opportunistic container would have been killed, by the node's history. */

#include "agent/requests/requests-internal.h"

#include "agent/journal/journal.h"
#include "agent/status.h"
#include "monitor/monitor.h"

#define DAY_USEC (24 * 3600 * NM_USEC_PER_SEC)

/* Returns the use that the policy counts: the measured use, and what is reserved for containers in their warm-up. */
static uint64_t used(const struct nm_history_point *p)
{
    static const enum nm_history_part parts[] = {NM_HISTORY_USED_BY_GUARANTEED, NM_HISTORY_USED_BY_OPPORTUNISTIC,
                                                 NM_HISTORY_USED_BY_OTHERS, NM_HISTORY_RESERVED};
    uint64_t sum = 0;

    for (size_t i = 0; i < NM_ARRAY_SIZE(parts); i++)
        sum = nm_add_u64(sum, p->use[parts[i]].memory_bytes);
    return sum;
}

/* Returns whether use and request exceed the threshold at a point after i, until end_usec. */
static bool exceeds_after(const struct nm_history *h, unsigned i, uint64_t end_usec, const struct nm_room_limits *l)
{
    const struct nm_history_point *p;

    while ((p = nm_history_get(h, ++i)) && p->at_usec <= end_usec)
        if (nm_add_u64(used(p), l->memory_bytes) > l->kill_above)
            return true;
    return false;
}

void nm_room_record_count(const struct nm_history *h, const struct nm_room_limits *l, struct nm_room_record *ret)
{
    const unsigned n = nm_history_n(h);
    const uint64_t newest_usec = n > 0 ? nm_history_get(h, n - 1)->at_usec : 0;
    struct nm_room_record r = {.step_usec = nm_history_step_usec(h)};
    uint64_t first_usec = 0;

    for (unsigned i = 0; i < n; i++) {
        const struct nm_history_point *p = nm_history_get(h, i);
        const uint64_t end_usec = nm_add_u64(p->at_usec, l->within_usec);

        if (end_usec > newest_usec)
            break;
        if (used(p) >= l->admit_below || nm_add_u64(used(p), l->memory_bytes) > l->kill_above)
            continue;
        first_usec = r.starts++ == 0 ? p->at_usec : first_usec;
        r.span_usec = p->at_usec - first_usec;
        r.exceeded += exceeds_after(h, i, end_usec, l);
    }
    *ret = r;
}

void nm_manager_get_room_record(const struct nm_manager *m, uint64_t memory_bytes, uint64_t within_usec,
                                struct nm_room_record *ret)
{
    const double capacity = (double)m->settings.capacity.memory_bytes;
    const struct nm_room_limits limits = {
        .memory_bytes = memory_bytes,
        .admit_below = (uint64_t)(capacity * m->settings.over_allocation_threshold.memory),
        .kill_above = (uint64_t)(capacity * m->settings.preemption_threshold.memory),
        .within_usec = within_usec,
    };

    nm_room_record_count(nm_saved_history_get(m, DAY_USEC), &limits, ret);
}
