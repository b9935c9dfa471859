/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The growth probe: follows memory and CPU between two samples.
 *
 * Pressure events come only when tasks already stall, and not at all while there is free memory beyond the capacity. A
 * sampling period of 3 s is too long for a process that touches a gigabyte per second. So while there are opportunistic
 * containers to take memory back from, the probe reads the node's meminfo between samples (a glance). If use has grown
 * so much that it may cross the preemption threshold, or by a large part of the capacity, the probe requests a full
 * sample, which decides as for a pressure event. A glance itself causes no decision.
 *
 * CPU works the same way: the slice's cpu.stat has the CPU time of all containers. The kernel's pressure events for CPU
 * are slower, up to 2 s where nmd lacks CAP_SYS_RESOURCE.
 */

#include "agent/node/sampling.h"

#include <assert.h>

#include "util/clock.h"
#include "util/loop.h"

/* A CPU surge shows in the first glance whose interval lies entirely in the surge. So relief takes at most two glances
 * plus CPU_LOOK_USEC. */
#define GLANCE_USEC (20 * NM_USEC_PER_MSEC)
#define FLUTTER_SHARE 1024 /* fraction of the capacity; smaller changes don't affect the threshold */
#define CPU_GLANCE_USEC (15 * NM_USEC_PER_MSEC) /* a shorter interval is not meaningful */
/* Long enough for the ticks of /proc/stat to be meaningful, and short enough for relief within 100 ms. */
#define CPU_LOOK_USEC (50 * NM_USEC_PER_MSEC)
/* First and longest pause after a look at CPU that required no action, while the use continues. */
#define CPU_LOOK_AGAIN_USEC (100 * NM_USEC_PER_MSEC)
#define CPU_LOOK_AGAIN_MAX_USEC NM_USEC_PER_SEC

struct nm_growth_probe {
    sd_event_source *timer, *look_timer;
    uint64_t at_usec, cpu_usec; /* time and slice's CPU time of the last glance; 0 if unknown */
    unsigned slice;             /* the slice that cpu_usec belongs to */
    uint64_t in_use_bytes, in_use_millicores; /* use in the newest full sample */
    /* Earliest time of the next look after a look that found no surge, and the pause that led to that time. */
    uint64_t look_after_usec, look_pause_usec;
    uint64_t event_usec; /* when the current stall or surge began; 0 if there is no stall or surge */
    bool looked;         /* the requested sample is the second sample of a look */
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
    sd_event_source_disable_unref(g->look_timer);
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
 * Returns whether growth justifies a full sample. All growth of the node's use may be the containers'. Memory held by
 * processes is also compared, and the greater growth counts: each CPU keeps freed pages on a list of its own, up to
 * hundreds of MiB, which MemAvailable counts as used. A process that gets those pages grows without a change of
 * MemAvailable.
 */
static bool worth_a_sample(const struct nm_manager *m, const struct nm_node_sample *now)
{
    uint64_t grown = NM_MAX(nm_sub_u64(used_bytes(now), used_bytes(&m->sampled.node)),
                            nm_sub_u64(now->memory_held_bytes, m->sampled.node.memory_held_bytes));
    enum nm_growth growth = nm_policy_judge_growth(&m->settings, m->growth_probe->in_use_bytes, grown);

    if (growth == NM_GROWTH_CROSSES && grown > m->settings.capacity.memory_bytes / FLUTTER_SHARE)
        return true;
    return growth != NM_GROWTH_SMALL && nm_sample_is_affordable(m, now->at_usec);
}

static uint64_t cpu_limit(const struct nm_manager *m)
{
    return (uint64_t)(m->settings.preemption_threshold.cpu *
                      (double)m->settings.capacity.cpu_millicores);
}

/* Returns whether containers alone have used all CPU up to the threshold since the last glance, although the newest
 * sample does not show this use. */
static bool cpu_surges(struct nm_manager *m, uint64_t now)
{
    struct nm_growth_probe *g = m->growth_probe;
    uint64_t before = g->cpu_usec, passed = now - g->at_usec, usage_usec;
    unsigned slice;

    if (passed < CPU_GLANCE_USEC || nm_sample_slice_cpu(m, &usage_usec, &slice) < 0)
        return false;
    if (g->slice != slice)
        before = 0;
    g->at_usec = now;
    g->cpu_usec = usage_usec;
    g->slice = slice;
    if (before == 0 || nm_sub_u64(usage_usec, before) * 1000 / passed <= cpu_limit(m)) {
        g->look_pause_usec = 0;
        return false;
    }
    return g->in_use_millicores <= cpu_limit(m) && now >= g->look_after_usec;
}

static int on_cpu_look(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_manager *m = userdata;

    (void)s, (void)usec;
    m->growth_probe->looked = true;
    nm_round_request(m, NM_TRIGGER_LOOK); /* nm_growth_probe_rearm() follows after the round */
    return 0;
}

/* Ends a look after its second sample was judged. */
static void end_look(struct nm_manager *m)
{
    m->growth_probe->looked = false;
    m->growth_probe->event_usec = 0;
    if (m->growth_probe->in_use_millicores > cpu_limit(m))
        return;
    m->growth_probe->look_pause_usec =
        NM_MIN(NM_MAX(2 * m->growth_probe->look_pause_usec, CPU_LOOK_AGAIN_USEC), CPU_LOOK_AGAIN_MAX_USEC);
    m->growth_probe->look_after_usec = nm_now_usec() + m->growth_probe->look_pause_usec;
}

/* Starts a look at CPU. Measured CPU use covers the time since the previous sample, which may be seconds, so a surge
 * that has just begun hardly shows. A look therefore takes two samples. The second covers the time between them, and
 * may be the first of the consecutive samples over the threshold. The others come at the normal period. */
void nm_growth_probe_look_at_cpu(struct nm_manager *m)
{
    if (m->growth_probe->event_usec != 0 || !m->growth_probe->look_timer)
        return;
    m->growth_probe->event_usec = nm_now_usec();
    nm_round_request(m, NM_TRIGGER_PRESSURE);
    (void)sd_event_source_set_time_relative(m->growth_probe->look_timer, CPU_LOOK_USEC);
    (void)sd_event_source_set_enabled(m->growth_probe->look_timer, SD_EVENT_ONESHOT);
}

static void arm(struct nm_manager *m)
{
    assert(m->growth_probe->timer);
    if (GLANCE_USEC >= m->config->period_usec)
        return;
    (void)sd_event_source_set_time_relative(m->growth_probe->timer, GLANCE_USEC);
    (void)sd_event_source_set_enabled(m->growth_probe->timer, SD_EVENT_ONESHOT);
}

static int on_glance(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_manager *m = userdata;
    struct nm_node_sample now;

    (void)s;
    if (nm_sample_memory(m, usec, &now) < 0)
        return 0; /* the next full sample will report the error */
    if (cpu_surges(m, nm_now_usec()))
        nm_growth_probe_look_at_cpu(m);
    else if (worth_a_sample(m, &now))
        nm_round_request(m, NM_TRIGGER_PRESSURE); /* nm_growth_probe_rearm() follows after the round */
    else
        arm(m);
    return 0;
}

int nm_growth_probe_start(struct nm_manager *m)
{
    int r = sd_event_add_time(m->event, &m->growth_probe->look_timer, CLOCK_BOOTTIME, UINT64_MAX, 1000,
                              on_cpu_look, m);

    if (r >= 0)
        r = sd_event_source_set_priority(m->growth_probe->look_timer, NM_LOOP_WATCH);
    if (r < 0)
        return r;
    nm_sample_open_slice(m);
    r = sd_event_add_time(m->event, &m->growth_probe->timer, CLOCK_BOOTTIME, UINT64_MAX, 1000, on_glance, m);
    return r < 0 ? r : sd_event_source_set_priority(m->growth_probe->timer, NM_LOOP_WATCH);
}

/* Returns whether memory could be taken back. Includes containers that were just admitted, which the verdict does not
 * cover yet. */
static bool could_take_back(const struct nm_manager *m)
{
    for (size_t i = 0; i < m->lives.n; i++)
        if (m->lives.views[i]->type == NM_OPPORTUNISTIC && m->lives.views[i]->admitted)
            return true;
    return false;
}

void nm_growth_probe_rearm(struct nm_manager *m, const struct nm_policy_verdict *v, bool sampled)
{
    bool wanted = m->config->glance && m->settings.over_allocation && could_take_back(m);
    int on = SD_EVENT_OFF;

    assert(v);
    if (!m->growth_probe->timer)
        return;
    (void)sd_event_source_get_enabled(m->growth_probe->timer, &on);
    /* Without a new sample, only start the probe if the first opportunistic container has just started. */
    if (!sampled && on != SD_EVENT_OFF && wanted)
        return;
    m->growth_probe->in_use_bytes = v->in_use.memory_bytes;
    m->growth_probe->in_use_millicores = v->in_use.cpu_millicores;
    if (sampled && m->growth_probe->looked)
        end_look(m);
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
    if (on == SD_EVENT_OFF && m->config->glance && m->settings.over_allocation && could_take_back(m))
        arm(m);
}
