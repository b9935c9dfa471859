/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Glances: memory is followed between two samples.
 *
 * Pressure events come when tasks already stall, and not at all as long as there is free memory
 * beyond what the node offers; a sampling period of 3 s is long against a process that touches a
 * gigabyte a second. So while there is somebody to take memory back from, the node's MemAvailable
 * alone is read in between (one small file, some 20 us). When it has fallen so far that the
 * preemption threshold may be crossed, or by a good piece at all, everything is sampled afresh, and
 * that sample decides, as for a pressure event. A glance itself decides nothing.
 */

#include "agent/manager.h"

#include "util/clock.h"

#define NEAR_USEC (25 * NM_USEC_PER_MSEC)  /* from the over-allocation threshold on */
#define FAR_USEC (100 * NM_USEC_PER_MSEC)
#define GOOD_PIECE_SHARE 64                /* of the capacity */

static uint64_t used_bytes(const struct nm_node_sample *n)
{
    return nm_sub_u64(n->memory_total_bytes, n->memory_available_bytes);
}

static uint64_t share(const struct nm_manager *m, double fraction)
{
    return (uint64_t)(fraction * (double)m->settings.capacity.memory_bytes);
}

/* By as much as the node's use has grown, the containers' may have. */
static bool worth_a_sample(const struct nm_manager *m, const struct nm_node_sample *now)
{
    uint64_t grown = nm_sub_u64(used_bytes(now), used_bytes(&m->node));
    uint64_t beta = share(m, m->settings.preemption_threshold.memory);

    return grown > m->settings.capacity.memory_bytes / GOOD_PIECE_SHARE ||
           (grown > 0 && m->in_use_bytes <= beta && m->in_use_bytes + grown > beta);
}

static void arm(struct nm_manager *m)
{
    bool near = m->in_use_bytes >= share(m, m->settings.over_allocation_threshold.memory);
    /* A node with a thousand containers is not sampled more than a twentieth of the time. */
    uint64_t after = NM_MAX(near ? NEAR_USEC : FAR_USEC, 20 * m->sample_cost_usec);

    if (after >= m->config->period_usec)
        return;
    (void)sd_event_source_set_time_relative(m->close_timer, after);
    (void)sd_event_source_set_enabled(m->close_timer, SD_EVENT_ONESHOT);
}

static int on_glance(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_manager *m = userdata;
    struct nm_node_sample now;

    (void)s;
    if (nm_node_sampler_sample(m->glance_sampler, usec, &now) < 0)
        return 0; /* the next full sample will say what is wrong */
    if (worth_a_sample(m, &now))
        nm_manager_round(m, NM_TRIGGER_PRESSURE); /* comes back through nm_glance_rearm() */
    else
        arm(m);
    return 0;
}

int nm_glance_start(struct nm_manager *m)
{
    return sd_event_add_time(m->event, &m->close_timer, CLOCK_BOOTTIME, UINT64_MAX, 1000, on_glance, m);
}

void nm_glance_rearm(struct nm_manager *m, const struct nm_policy_verdict *v)
{
    m->in_use_bytes = v->in_use.memory_bytes;
    if (!m->close_timer)
        return;
    if (m->config->glance && m->settings.over_allocation &&
        v->allocated_opportunistic.memory_bytes > 0)
        arm(m);
    else
        (void)sd_event_source_set_enabled(m->close_timer, SD_EVENT_OFF);
}
