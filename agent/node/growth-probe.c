/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Glances: memory and CPU are followed between two samples.
 *
 * Pressure events come when tasks already stall, and not at all as long as there is free memory
 * beyond what the node offers; a sampling period of 3 s is long against a process that touches a
 * gigabyte a second. So while there is somebody to take memory back from, the node's meminfo alone is
 * read in between. When so much more is in use that the preemption threshold may be crossed, or a good
 * piece at all, everything is sampled afresh, and that sample decides, as for a pressure event. A
 * glance itself decides nothing.
 *
 * The same for CPU: what all containers together have used stands in the slice's own cpu.stat. The
 * kernel's pressure events are slower there, and as slow as 2 s where nmd lacks CAP_SYS_RESOURCE.
 */

#include "agent/node/growth-probe.h"

#include <assert.h>

#include "agent/state/round-schedule.h"
#include "agent/node/sample.h"
#include "util/clock.h"
#include "util/loop.h"

/* A surge of CPU is seen in the first glance that is all of it: two of these and CPU_LOOK_USEC are what may pass
 * before it is relieved. */
#define GLANCE_USEC (20 * NM_USEC_PER_MSEC)
#define FLUTTER_SHARE 1024 /* of the capacity: what is no more says nothing about the threshold */
#define CPU_GLANCE_USEC (15 * NM_USEC_PER_MSEC) /* less says nothing */
/* Long enough that the ticks of /proc/stat say something, short enough to relieve within 100 ms. */
#define CPU_LOOK_USEC (50 * NM_USEC_PER_MSEC)
/* After a look that found nothing to do, although the use goes on: first and longest pause. */
#define CPU_LOOK_AGAIN_USEC (100 * NM_USEC_PER_MSEC)
#define CPU_LOOK_AGAIN_MAX_USEC NM_USEC_PER_SEC

struct nm_growth_probe {
    sd_event_source *timer, *look_timer;
    uint64_t at_usec, cpu_usec; /* of the last glance: its time, and the slice's CPU time (0: unknown) */
    unsigned slice;             /* the number of the slice that cpu_usec is of */
    uint64_t in_use_bytes, in_use_millicores; /* of the newest full sample */
    /* After a look at CPU that found no surge, the next one waits: until then, and for so long. */
    uint64_t look_after_usec, look_pause_usec;
    uint64_t event_usec; /* when the stall or surge that is followed began; 0: none is */
    bool looked;         /* the sample that was asked for is the second one of a look */
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
 * By as much as the node's use has grown, the containers' may have. What processes hold is told apart, and the
 * greater growth counts: each CPU keeps freed pages on a list of its own, hundreds of MiB by now, which
 * MemAvailable takes for used; a process that is given those grows without a change of it.
 */
static bool worth_a_sample(const struct nm_manager *m, const struct nm_node_sample *now)
{
    uint64_t grown = NM_MAX(nm_sub_u64(used_bytes(now), used_bytes(&m->sampled.node)),
                            nm_sub_u64(now->memory_held_bytes, m->sampled.node.memory_held_bytes));
    enum nm_growth growth = nm_policy_judge_growth(&m->settings, m->glance->in_use_bytes, grown);

    if (growth == NM_GROWTH_CROSSES && grown > m->settings.capacity.memory_bytes / FLUTTER_SHARE)
        return true;
    return growth != NM_GROWTH_SMALL && nm_sample_is_affordable(m, now->at_usec);
}

static uint64_t cpu_limit(const struct nm_manager *m)
{
    return (uint64_t)(m->settings.preemption_threshold.cpu *
                      (double)m->settings.capacity.cpu_millicores);
}

/* Since the last glance, all CPU up to the threshold was used by containers alone, and the newest
 * sample knows nothing of that. */
static bool cpu_surges(struct nm_manager *m, uint64_t now)
{
    struct nm_growth_probe *g = m->glance;
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
    m->glance->looked = true;
    nm_round_request(m, NM_TRIGGER_LOOK); /* comes back through nm_growth_probe_rearm() */
    return 0;
}

/* The second sample of a look has been judged. */
static void end_look(struct nm_manager *m)
{
    m->glance->looked = false;
    m->glance->event_usec = 0;
    if (m->glance->in_use_millicores > cpu_limit(m))
        return;
    m->glance->look_pause_usec =
        NM_MIN(NM_MAX(2 * m->glance->look_pause_usec, CPU_LOOK_AGAIN_USEC), CPU_LOOK_AGAIN_MAX_USEC);
    m->glance->look_after_usec = nm_now_usec() + m->glance->look_pause_usec;
}

/* CPU use is what was used since the sample before, which may be seconds ago: a surge that has just
 * begun hardly shows in it. So it makes two samples, and the second one, which is of the moment between
 * them, may be the first of those that must be over the threshold in a row; the others come in their own time. */
void nm_growth_probe_look_at_cpu(struct nm_manager *m)
{
    if (m->glance->event_usec != 0 || !m->glance->look_timer)
        return;
    m->glance->event_usec = nm_now_usec();
    nm_round_request(m, NM_TRIGGER_PRESSURE);
    (void)sd_event_source_set_time_relative(m->glance->look_timer, CPU_LOOK_USEC);
    (void)sd_event_source_set_enabled(m->glance->look_timer, SD_EVENT_ONESHOT);
}

static void arm(struct nm_manager *m)
{
    assert(m->glance->timer);
    if (GLANCE_USEC >= m->config->period_usec)
        return;
    (void)sd_event_source_set_time_relative(m->glance->timer, GLANCE_USEC);
    (void)sd_event_source_set_enabled(m->glance->timer, SD_EVENT_ONESHOT);
}

static int on_glance(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_manager *m = userdata;
    struct nm_node_sample now;

    (void)s;
    if (nm_sample_memory(m, usec, &now) < 0)
        return 0; /* the next full sample will say what is wrong */
    if (cpu_surges(m, nm_now_usec()))
        nm_growth_probe_look_at_cpu(m);
    else if (worth_a_sample(m, &now))
        nm_round_request(m, NM_TRIGGER_PRESSURE); /* comes back through nm_growth_probe_rearm() */
    else
        arm(m);
    return 0;
}

int nm_growth_probe_start(struct nm_manager *m)
{
    int r = sd_event_add_time(m->event, &m->glance->look_timer, CLOCK_BOOTTIME, UINT64_MAX, 1000,
                              on_cpu_look, m);

    if (r >= 0)
        r = sd_event_source_set_priority(m->glance->look_timer, NM_LOOP_WATCH);
    if (r < 0)
        return r;
    nm_sample_open_slice(m);
    r = sd_event_add_time(m->event, &m->glance->timer, CLOCK_BOOTTIME, UINT64_MAX, 1000, on_glance, m);
    return r < 0 ? r : sd_event_source_set_priority(m->glance->timer, NM_LOOP_WATCH);
}

/* Those that have just been admitted, too, of which the verdict itself knows nothing yet. */
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
    if (!m->glance->timer)
        return;
    (void)sd_event_source_get_enabled(m->glance->timer, &on);
    /* Without a new sample there is only one thing to do: to begin, when the first one has started
     * that something could be taken back from. */
    if (!sampled && on != SD_EVENT_OFF && wanted)
        return;
    m->glance->in_use_bytes = v->in_use.memory_bytes;
    m->glance->in_use_millicores = v->in_use.cpu_millicores;
    if (sampled && m->glance->looked)
        end_look(m);
    nm_sample_open_slice(m);
    if (wanted)
        arm(m);
    else
        (void)sd_event_source_set_enabled(m->glance->timer, SD_EVENT_OFF);
}

void nm_growth_probe_again(struct nm_manager *m)
{
    int on = SD_EVENT_OFF;

    if (!m->glance->timer)
        return;
    (void)sd_event_source_get_enabled(m->glance->timer, &on);
    if (on == SD_EVENT_OFF && m->config->glance && m->settings.over_allocation && could_take_back(m))
        arm(m);
}
