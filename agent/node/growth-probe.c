/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The growth probe reads the use of memory and CPU between two samples.
 *
 * Pressure events occur only when tasks already stall, and do not occur while the node has free memory beyond the
 * capacity. A sampling period of 3 s is too long for a process that touches a gigabyte per second. So while memory can
 * be taken back from opportunistic containers, the probe reads the node's meminfo between samples. The probe requests a
 * round with a full sample if use may have crossed the preemption threshold, or has grown by a large part of the
 * capacity. The policy decides on the full sample, never on a reading of the probe.
 *
 * Each reading also covers the slice's cpu.stat, which has the CPU time of all containers. The kernel's pressure events
 * for CPU are slower: up to 2 s if nmd lacks CAP_SYS_RESOURCE. If CPU use may have crossed the threshold, or after a
 * pressure event, the probe starts a CPU check: two full samples, 50 ms apart.
 */

#include "agent/node/sampling.h"

#include <assert.h>

#include "util/clock.h"
#include "util/loop.h"

/* A reading detects a CPU surge if the whole interval before it lies in the surge. So a surge leads to an action after
 * at most two readings plus CPU_CHECK_USEC. */
#define GROWTH_PROBE_USEC (20 * NM_USEC_PER_MSEC)
#define FLUTTER_DIVISOR 1024 /* fraction of the capacity; smaller changes don't affect the threshold */
#define CPU_PROBE_USEC (15 * NM_USEC_PER_MSEC) /* CPU use over a shorter interval is not accurate */
/* The time between the two samples of a CPU check. In 50 ms, /proc/stat counts enough ticks for an accurate value. A
 * longer time would delay the action beyond 100 ms after the begin of the surge. */
#define CPU_CHECK_USEC (50 * NM_USEC_PER_MSEC)
/* While readings keep showing CPU use over the threshold, CPU checks that find no surge are followed by a pause. The
 * pause doubles with each such check, from the first to the second value. */
#define CPU_CHECK_PAUSE_USEC (100 * NM_USEC_PER_MSEC)
#define CPU_CHECK_PAUSE_MAX_USEC NM_USEC_PER_SEC

struct nm_growth_probe {
    sd_event_source *timer, *check_timer;
    uint64_t at_usec, cpu_usec; /* the last reading's time, and the slice's CPU time then; 0 if unknown */
    unsigned slice;             /* the slice that cpu_usec belongs to */
    uint64_t in_use_bytes, in_use_millicores; /* use in the newest full sample */
    /* Earliest time of the next CPU check after one that found no surge, and the pause before that time. */
    uint64_t next_check_usec, check_pause_usec;
    uint64_t event_usec; /* when the current stall or surge began; 0 if there is no stall or surge */
    bool is_second_sample;    /* the requested round takes the second sample of a CPU check */
};

struct nm_growth_probe *nm_growth_probe_new(void)
{
    return calloc(1, sizeof(struct nm_growth_probe));
}

struct nm_growth_probe *nm_growth_probe_free(struct nm_growth_probe *g)
{
    if (!g)
        return NULL;
    sd_event_source_disable_unref(g->timer);
    sd_event_source_disable_unref(g->check_timer);
    free(g);
    return NULL;
}

uint64_t nm_growth_probe_event_usec(const struct nm_growth_probe *g)
{
    return g->event_usec;
}

static uint64_t used_bytes(const struct nm_node_sample *n)
{
    return nm_sub_u64(n->memory_total_bytes, n->memory_available_bytes);
}

/*
 * Returns whether growth since the last sample justifies a full sample. All growth of the node's use may come from the
 * containers. Growth is computed from MemAvailable and from the memory held by processes, and the greater growth
 * counts. The reason is that each CPU keeps a list of freed pages, up to hundreds of MiB, which MemAvailable counts as
 * used. A process that gets pages from such a list grows without a change of MemAvailable.
 */
static bool worth_a_sample(const struct nm_manager *m, const struct nm_node_sample *now)
{
    uint64_t grown = NM_MAX(nm_sub_u64(used_bytes(now), used_bytes(&m->sampled.node)),
                            nm_sub_u64(now->memory_held_bytes, m->sampled.node.memory_held_bytes));
    enum nm_growth growth = nm_policy_classify_growth(&m->settings, m->growth_probe->in_use_bytes, grown);

    if (growth == NM_GROWTH_CROSSES && grown > m->settings.capacity.memory_bytes / FLUTTER_DIVISOR)
        return true;
    return growth != NM_GROWTH_SMALL && nm_sample_is_affordable(m, now->at_usec);
}

static uint64_t cpu_limit(const struct nm_manager *m)
{
    return (uint64_t)(m->settings.preemption_threshold.cpu *
                      (double)m->settings.capacity.cpu_millicores);
}

/* Returns whether the containers' CPU use since the last reading exceeds the preemption threshold, although the newest
 * sample shows less. */
static bool cpu_surges(struct nm_manager *m, uint64_t now)
{
    struct nm_growth_probe *g = m->growth_probe;
    uint64_t before = g->cpu_usec, passed = now - g->at_usec, usage_usec;
    unsigned slice;

    if (passed < CPU_PROBE_USEC || nm_sample_slice_cpu(m, &usage_usec, &slice) < 0)
        return false;
    if (g->slice != slice)
        before = 0;
    g->at_usec = now;
    g->cpu_usec = usage_usec;
    g->slice = slice;
    if (before == 0 || nm_sub_u64(usage_usec, before) * 1000 / passed <= cpu_limit(m)) {
        g->check_pause_usec = 0;
        return false;
    }
    return g->in_use_millicores <= cpu_limit(m) && now >= g->next_check_usec;
}

static int on_second_sample(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_manager *m = userdata;

    (void)s, (void)usec;
    m->growth_probe->is_second_sample = true;
    nm_round_request(m, NM_TRIGGER_EXTRA_SAMPLE); /* nm_growth_probe_rearm() follows after the round */
    return 0;
}

/* Ends a CPU check after a round has evaluated its second sample. */
static void end_cpu_check(struct nm_manager *m)
{
    m->growth_probe->is_second_sample = false;
    m->growth_probe->event_usec = 0;
    if (m->growth_probe->in_use_millicores > cpu_limit(m))
        return;
    m->growth_probe->check_pause_usec =
        NM_MIN(NM_MAX(2 * m->growth_probe->check_pause_usec, CPU_CHECK_PAUSE_USEC), CPU_CHECK_PAUSE_MAX_USEC);
    m->growth_probe->next_check_usec = nm_now_usec() + m->growth_probe->check_pause_usec;
}

/* Starts a CPU check. The CPU use in a sample is the average since the previous sample, which may be seconds ago, so
 * a surge that has just begun hardly changes this average. A check therefore takes two samples, and the second sample
 * covers only the time between them. The second sample may be the first of the consecutive samples over the threshold
 * that the policy requires. The other required samples are taken at the normal period. */
void nm_growth_probe_check_cpu(struct nm_manager *m)
{
    if (m->growth_probe->event_usec != 0 || !m->growth_probe->check_timer)
        return;
    m->growth_probe->event_usec = nm_now_usec();
    nm_round_request(m, NM_TRIGGER_PRESSURE);
    (void)sd_event_source_set_time_relative(m->growth_probe->check_timer, CPU_CHECK_USEC);
    (void)sd_event_source_set_enabled(m->growth_probe->check_timer, SD_EVENT_ONESHOT);
}

static void arm(struct nm_manager *m)
{
    assert(m->growth_probe->timer);
    if (GROWTH_PROBE_USEC >= m->config->period_usec)
        return;
    (void)sd_event_source_set_time_relative(m->growth_probe->timer, GROWTH_PROBE_USEC);
    (void)sd_event_source_set_enabled(m->growth_probe->timer, SD_EVENT_ONESHOT);
}

static int on_growth_probe(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_manager *m = userdata;
    struct nm_node_sample now;

    (void)s;
    if (nm_sample_memory(m, usec, &now) < 0)
        return 0; /* the next full sample will report the error */
    if (cpu_surges(m, nm_now_usec()))
        nm_growth_probe_check_cpu(m);
    else if (worth_a_sample(m, &now))
        nm_round_request(m, NM_TRIGGER_PRESSURE); /* nm_growth_probe_rearm() follows after the round */
    else
        arm(m);
    return 0;
}

int nm_growth_probe_start(struct nm_manager *m)
{
    int r = sd_event_add_time(m->event, &m->growth_probe->check_timer, CLOCK_BOOTTIME, UINT64_MAX, 1000,
                              on_second_sample, m);

    if (r >= 0)
        r = sd_event_source_set_priority(m->growth_probe->check_timer, NM_LOOP_WATCH);
    if (r < 0)
        return r;
    nm_sample_open_slice(m);
    r = sd_event_add_time(m->event, &m->growth_probe->timer, CLOCK_BOOTTIME, UINT64_MAX, 1000, on_growth_probe, m);
    return r < 0 ? r : sd_event_source_set_priority(m->growth_probe->timer, NM_LOOP_WATCH);
}

/* Returns whether there is an opportunistic container to take memory back from. A container that this round has
 * admitted counts, although it is not in the round's verdict yet. */
static bool has_opportunistic(const struct nm_manager *m)
{
    for (size_t i = 0; i < m->live.n; i++)
        if (m->live.views[i]->type == NM_OPPORTUNISTIC && m->live.views[i]->admitted)
            return true;
    return false;
}

void nm_growth_probe_rearm(struct nm_manager *m, const struct nm_policy_verdict *v, bool sampled)
{
    bool wanted = m->config->growth_probe && m->settings.over_allocation && has_opportunistic(m);
    int on = SD_EVENT_OFF;

    assert(v);
    if (!m->growth_probe->timer)
        return;
    (void)sd_event_source_get_enabled(m->growth_probe->timer, &on);
    /* After a round without a new sample, only start a probe that is off: the first opportunistic container was just
     * admitted. */
    if (!sampled && on != SD_EVENT_OFF && wanted)
        return;
    m->growth_probe->in_use_bytes = v->in_use.memory_bytes;
    m->growth_probe->in_use_millicores = v->in_use.cpu_millicores;
    if (sampled && m->growth_probe->is_second_sample)
        end_cpu_check(m);
    nm_sample_open_slice(m);
    if (wanted)
        arm(m);
    else
        (void)sd_event_source_set_enabled(m->growth_probe->timer, SD_EVENT_OFF);
}

void nm_growth_probe_again(struct nm_manager *m)
{
    int on = SD_EVENT_OFF;

    if (!m->growth_probe->timer)
        return;
    (void)sd_event_source_get_enabled(m->growth_probe->timer, &on);
    if (on == SD_EVENT_OFF && m->config->growth_probe && m->settings.over_allocation && has_opportunistic(m))
        arm(m);
}
