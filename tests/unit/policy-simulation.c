/* SPDX-License-Identifier: Apache-2.0 */

/* The simulated node; see policy-simulation.h. */

#include "tests/unit/policy-simulation.h"

uint64_t simulation_random(struct simulation *w)
{
    /* splitmix64: neighbouring seeds also give independent numbers */
    uint64_t z = (w->rng += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t simulation_below(struct simulation *w, uint64_t n)
{
    return n > 0 ? simulation_random(w) % n : 0;
}

bool simulation_chance(struct simulation *w, double p)
{
    return (double)(simulation_random(w) >> 11) < p * 9007199254740992.0;
}

static uint64_t between(struct simulation *w, uint64_t low, uint64_t high)
{
    return low + simulation_below(w, high - low + 1);
}

#define CROWD 40 /* number of tiny containers that arrive together */

/* ---- settings -------------------------------------------------------------------------------- */

static struct nm_fractions random_fractions(struct simulation *w, const struct nm_fractions *above)
{
    struct nm_fractions f;

    if (!above)
        return (struct nm_fractions){(double)between(w, 30, 95) / 100,
                                     (double)between(w, 30, 95) / 100};
    f.memory = above->memory + (1 - above->memory) * (double)between(w, 5, 100) / 100;
    f.cpu = above->cpu + (1 - above->cpu) * (double)between(w, 5, 100) / 100;
    return f;
}

/* Restores the random state afterwards. In this way each seed gives the same history as before this function was added,
 * and seeds that are known for rare events still have these events. */
static void random_reclaim(struct simulation *w)
{
    uint64_t rng = w->rng;

    w->settings.reclaim_usec =
        simulation_chance(w, 0.6) ? between(w, 1, 100) * 100 * NM_USEC_PER_MSEC : 0;
    w->reclaim_bytes_per_sec = simulation_chance(w, 0.7) ? between(w, 1, 20000) * NM_MIB : 0;
    w->rng = rng;
}

/* Lowers the offered memory, CPU or both, as an upstream may do. */
static void random_offer(struct simulation *w)
{
    struct nm_policy_settings *s = &w->settings;

    s->offered = (struct nm_resources){0};
    if (simulation_chance(w, 0.2))
        s->offered.memory_bytes = between(w, s->capacity.memory_bytes / 4, s->capacity.memory_bytes);
    if (simulation_chance(w, 0.2))
        s->offered.cpu_millicores = between(w, s->capacity.cpu_millicores / 4, s->capacity.cpu_millicores);
}

static void random_settings(struct simulation *w)
{
    struct nm_policy_settings *s = &w->settings;

    s->over_allocation = simulation_chance(w, 0.85);
    s->over_allocation_threshold = random_fractions(w, NULL);
    s->preemption_threshold = random_fractions(w, &s->over_allocation_threshold);
    s->warmup_usec = between(w, 0, 4) * 5 * NM_USEC_PER_SEC;
    s->warmup_samples = (uint32_t)between(w, 0, 4);
    s->queue_max_length = (uint32_t)(simulation_chance(w, 0.1) ? CROWD : between(w, 1, 12));
    s->queue_order = (enum nm_queue_order)simulation_below(w, 4);
    s->queue_policy = simulation_chance(w, 0.3) ? NM_QUEUE_BY_RESOURCES : NM_QUEUE_BY_LENGTH;
    s->backfill_usec = simulation_chance(w, 0.7) ? between(w, 1, 40) * NM_USEC_PER_SEC : 0;
    s->give_back_usec = simulation_chance(w, 0.5) ? between(w, 1, 30) * NM_USEC_PER_SEC : 0;
    random_offer(w);
    s->victim_order = (enum nm_victim_order)simulation_below(w, 4);
    s->pause_enabled = simulation_chance(w, 0.75);
    s->pause_deadline_usec = between(w, 3, 60) * NM_USEC_PER_SEC;
    s->cpu_samples = (uint32_t)between(w, 1, 5);
    s->settle_samples = (uint32_t)between(w, 0, 4);
    s->kills_per_minute = (uint32_t)(simulation_chance(w, 0.5) ? between(w, 0, 3) : between(w, 4, 80));
    s->breaker_usec = between(w, 0, 3) * 5 * NM_USEC_PER_SEC;
    s->period_usec = w->period;
    s->margin_usec = between(w, 0, 3) * 30 * NM_USEC_PER_SEC;
    s->sample_max_age_usec = w->period * between(w, 1, 3);
    s->uplink_threshold = simulation_chance(w, 0.2) ? 0.9 : 0;
    s->squeeze_floor_millicores = between(w, 0, 100);
    s->can_freeze = simulation_chance(w, 0.9);
    s->can_reclaim = simulation_chance(w, 0.5);
    s->can_squeeze = simulation_chance(w, 0.5);
    s->memory_limits = simulation_chance(w, 0.7);
    random_reclaim(w);
    s->guard_stall = s->can_squeeze && simulation_chance(w, 0.5);
    s->stall_margin = (double)between(w, 0, 20) / 100;
    if (s->guard_stall && simulation_chance(w, 0.5)) /* the default thresholds with the stall guard */
        s->over_allocation_threshold.cpu = 0.99, s->preemption_threshold.cpu = 1;
}

/* Sets the remembered surges, as a restarted nmd does. These histories are too short for surges that destroy enough
 * work to be remembered. */
static void remember_surges(struct simulation *w)
{
    struct nm_policy_memory m = {
        .margin = {.until_usec = w->now + between(w, 0, 120) * NM_USEC_PER_SEC,
                   .hold_usec = between(w, 0, 120) * NM_USEC_PER_SEC,
                   .peak_permille = between(w, 0, 1200)},
    };

    /* times between surges that are so different that some are longer and some shorter than the containers' runs */
    for (size_t i = 0; i < NM_SURGE_GAPS && simulation_chance(w, 0.9); i++)
        m.margin.gap_sec[i] = (uint32_t)between(w, 1, 200);
    nm_policy_set_memory(w->policy, &m);
}

int simulation_init(struct simulation *w, uint64_t seed)
{
    int r;

    *w = (struct simulation){.rng = seed,
                             .now = 1000 * NM_USEC_PER_SEC,
                             .squeeze = NM_NO_SQUEEZE,
                             .shed_to = UINT32_MAX,
                             .shed_limited_to = UINT32_MAX};
    w->period = between(w, 1, 30) * 100 * NM_USEC_PER_MSEC;
    w->settings.capacity.memory_bytes = between(w, 64, 65536) * NM_MIB;
    w->cpus = between(w, 1, 32) * 1000;
    w->settings.capacity.cpu_millicores = simulation_chance(w, 0.7) ? w->cpus : between(w, 500, w->cpus);
    w->settings.reserve.memory_bytes = simulation_chance(w, 0.5) ? between(w, 0, 512) * NM_MIB : 0;
    random_settings(w);
    w->system_memory_mean =
        simulation_chance(w, 0.5) ? simulation_below(w, w->settings.capacity.memory_bytes / 4) : 0;
    w->system_cpu_mean = simulation_chance(w, 0.5) ? simulation_below(w, w->cpus / 4) : 0;
    w->miss = simulation_chance(w, 0.4) ? 0.15 : 0;
    w->interfere = simulation_chance(w, 0.5) ? 0.08 : 0;
    w->arrive = (double)between(w, 5, 60) / 100;
    w->reload = simulation_chance(w, 0.2) ? 0.03 : 0;
    w->sleep = simulation_chance(w, 0.2) ? 0.02 : 0;
    w->phases = simulation_chance(w, 0.5);
    w->crowded = simulation_chance(w, 0.5);
    w->next_sample = w->now;
    for (size_t i = 0; i < SIMULATION_APPS; i++)
        w->apps[i] = (struct nm_policy_app){(uint32_t)simulation_below(w, 10), 0, 0};
    r = nm_policy_new(&w->policy);
    if (r >= 0 && simulation_chance(w, 0.3))
        remember_surges(w);
    return r;
}

void simulation_done(struct simulation *w)
{
    w->policy = nm_policy_free(w->policy);
}

/* ---- containers ------------------------------------------------------------------------------ */

static void enter(struct simulation *w, struct sim_container *c, enum nm_state state)
{
    c->view.state = state;
    c->view.state_usec = w->now;
    c->view.state_samples = 0;
}

/* Starts a transition. The transition usually takes milliseconds, and sometimes far too long. */
static void pass_through(struct simulation *w, struct sim_container *c, enum nm_state state, double stuck)
{
    enter(w, c, state);
    c->due_usec = w->now + (simulation_chance(w, stuck) ? between(w, 8, 60) * NM_USEC_PER_SEC
                                                   : between(w, 1, 400) * NM_USEC_PER_MSEC);
    c->fails = simulation_chance(w, 0.03);
}

struct sums {
    double promised[2], waiting[2];
    uint32_t queued;
};

static struct sums sums_of(const struct simulation *w)
{
    struct sums s = {0};

    for (size_t i = 0; i < w->in.n_views; i++) {
        const struct nm_policy_container *v = w->views[i];
        bool waits = v->state < NM_SCHEDULED || (v->state == NM_SCHEDULED && !v->admitted);
        double of[2] = {(double)v->request.memory_bytes, (double)v->request.cpu_millicores};

        if (v->state == NM_KILLING)
            continue;
        s.queued += waits && v->type == NM_OPPORTUNISTIC;
        for (int k = 0; k < 2; k++) {
            s.waiting[k] += waits ? of[k] : 0;
            s.promised[k] += v->type == NM_GUARANTEED && !(k == NM_CPU && v->cpu_is_share) ? of[k] : 0;
        }
    }
    return s;
}

/* Computes the result that policy.h promises for a request, without the policy's code. */
static enum nm_reason expected(const struct simulation *w, enum nm_execution_type type,
                               const struct nm_resources *request,
                               bool share)
{
    const struct nm_resources *c = &w->settings.capacity;
    const double capacity[2] = {(double)c->memory_bytes, (double)c->cpu_millicores};
    const double asked[2] = {(double)request->memory_bytes, (double)request->cpu_millicores};
    struct sums s = sums_of(w);
    bool full = w->settings.queue_policy == NM_QUEUE_BY_LENGTH && s.queued >= w->settings.queue_max_length;
    bool broken = false, larger = false;

    for (int k = 0; k < 2; k++) {
        bool counts = !(type == NM_GUARANTEED && share && k == NM_CPU);

        larger = larger || (counts && asked[k] > capacity[k]);
        broken = broken || (counts && s.promised[k] + asked[k] > capacity[k]);
        full = full ||
               (w->settings.queue_policy == NM_QUEUE_BY_RESOURCES && s.waiting[k] + asked[k] > capacity[k]);
    }
    if (larger)
        return NM_REASON_LARGER_THAN_NODE;
    if (type == NM_GUARANTEED)
        return broken ? NM_REASON_GUARANTEED_FULL : NM_REASON_NONE;
    return full ? NM_REASON_QUEUE_FULL : NM_REASON_NONE;
}

/* Returns how long no surge is expected after the end of a surge: one time between surges in seven may be shorter. */
static uint64_t calm_usec(const struct nm_policy_margin *m)
{
    uint32_t n = 0, shorter;

    while (n < NM_SURGE_GAPS && m->gap_sec[n] > 0)
        n++;
    for (uint32_t i = 0; i < n; i++) {
        shorter = 0;
        for (uint32_t k = 0; k < n; k++)
            shorter += m->gap_sec[k] < m->gap_sec[i] || (m->gap_sec[k] == m->gap_sec[i] && k < i);
        if ((shorter + 0.5) / (n + 1) <= 0.14 && (shorter + 1.5) / (n + 1) > 0.14)
            return m->gap_sec[i] * NM_USEC_PER_SEC;
    }
    return 0;
}

/* Returns whether policy.h keeps the second half of the queue for other containers than this one. */
static bool is_kept_for_others(const struct simulation *w, const struct nm_resources *request, uint64_t expected_usec)
{
    struct nm_policy_memory m;
    uint32_t queued = 0, before = 0;

    nm_policy_get_memory(w->policy, &m);
    for (size_t i = 0; i < w->in.n_views; i++) {
        const struct nm_policy_container *v = w->views[i];

        if (v->type == NM_GUARANTEED || v->admitted || v->state > NM_SCHEDULED)
            continue;
        queued++;
        before += (long double)v->request.cpu_millicores * (long double)request->memory_bytes >
                  (long double)request->cpu_millicores * (long double)v->request.memory_bytes;
    }
    if (expected_usec > 0 && expected_usec + expected_usec / 3 <= calm_usec(&m.margin))
        before = 0;
    return m.margin.until_usec > w->now && w->settings.queue_policy == NM_QUEUE_BY_LENGTH &&
           queued + before >= w->settings.queue_max_length;
}

static bool is_taken(struct simulation *w, enum nm_execution_type type, const struct nm_resources *request,
                     uint64_t expected_usec, bool share)
{
    enum nm_reason r = nm_policy_check_request(&w->settings, w->views, w->in.n_views, type, request, share, NULL);

    if (r != expected(w, type, request, share))
        w->wrong = "a request is taken that can't be, or refused that could, or for another reason";
    if (r == NM_REASON_NONE && type == NM_OPPORTUNISTIC) {
        bool takes = nm_policy_queue_takes(w->policy, &w->settings, w->views, w->in.n_views, request, expected_usec,
                                           w->now);

        if (takes == is_kept_for_others(w, request, expected_usec))
            w->wrong = "the queue takes a request that it must not, or refuses another";
        r = takes ? r : NM_REASON_QUEUE_KEPT;
    }
    w->n_requests[r]++;
    return r == NM_REASON_NONE;
}

/* Restores the random state afterwards, as random_reclaim() does. */
static uint64_t random_expectation(struct simulation *w)
{
    uint64_t rng = w->rng, expected_usec = simulation_chance(w, 0.5) ? between(w, 1, 100) * NM_USEC_PER_SEC : 0;

    w->rng = rng;
    return expected_usec;
}

static void arrive(struct simulation *w, uint64_t part)
{
    const struct nm_resources *capacity = &w->settings.capacity;
    struct sim_container *c = NULL;
    struct nm_resources request;
    uint64_t expected_usec;
    enum nm_execution_type type = simulation_chance(w, 0.35) ? NM_GUARANTEED : NM_OPPORTUNISTIC;
    bool share = simulation_chance(w, 0.2);

    for (size_t i = 0; i < SIMULATION_MAX && !c; i++)
        c = w->all[i].alive ? NULL : &w->all[i];
    request.memory_bytes = 1 + simulation_below(w, capacity->memory_bytes / between(w, part, 12 * part));
    request.cpu_millicores = 1 + simulation_below(w, capacity->cpu_millicores / between(w, part, 12 * part));
    if (simulation_chance(w, 0.01))
        request.memory_bytes += capacity->memory_bytes;
    if (share && type == NM_GUARANTEED && simulation_chance(w, 0.3))
        request.cpu_millicores += capacity->cpu_millicores * between(w, 1, 3);
    expected_usec = random_expectation(w);
    if (!c || !is_taken(w, type, &request, expected_usec, share))
        return;
    *c = (struct sim_container){
        .alive = true,
        .memory_target = simulation_below(w, request.memory_bytes + 1),
        .cpu_demand = simulation_below(w, request.cpu_millicores * 2),
        .work_left_usec = between(w, 1, 120) * NM_USEC_PER_SEC,
        .view =
            {
                .seq = ++w->next_seq,
                .type = type,
                .exempt = type == NM_OPPORTUNISTIC && simulation_chance(w, 0.05),
                .cpu_is_share = share,
                .limited = simulation_chance(w, 0.5),
                .request = request,
                .submitted_usec = w->now,
                .pause_deadline_usec = UINT64_MAX,
                .min_runtime_usec = simulation_chance(w, 0.2) ? between(w, 1, 30) * NM_USEC_PER_SEC : 0,
                .expected_usec = expected_usec,
                .app = (uint32_t)simulation_below(w, SIMULATION_APPS + 1),
            },
    };
    if (simulation_chance(w, 0.1))
        pass_through(w, c, simulation_chance(w, 0.5) ? NM_NEW : NM_LOCALIZING, 0.3);
    else
        enter(w, c, NM_SCHEDULED);
}

static void leave(struct simulation *w, struct sim_container *c)
{
    c->alive = false;
    if (c->view.app < SIMULATION_APPS)
        w->apps[c->view.app].completed++;
}

static void freeze_done(struct simulation *w, struct sim_container *c)
{
    if (c->fails) {
        enter(w, c, NM_RUNNING);
        return;
    }
    enter(w, c, NM_PAUSED);
    c->view.paused_usec = w->now;
    c->view.pause_deadline_usec = w->now + w->settings.pause_deadline_usec;
    c->view.reclaimed = false;
}

static void resume_done(struct simulation *w, struct sim_container *c)
{
    if (c->fails) {
        enter(w, c, NM_PAUSED);
        /* if the freeze was given up before the resume, no deadline is set yet */
        c->view.pause_deadline_usec =
            NM_MIN(c->view.pause_deadline_usec, w->now + w->settings.pause_deadline_usec);
        return;
    }
    enter(w, c, NM_RUNNING);
    c->view.pause_deadline_usec = UINT64_MAX;
    c->view.user_paused = false;
}

/* Completes a transition that is due. Returns whether anything happened. */
static bool arrive_in_state(struct simulation *w, struct sim_container *c)
{
    struct nm_policy_container *v = &c->view;
    bool passing = nm_policy_container_in_preparation(v) || (v->state == NM_SCHEDULED && v->admitted) ||
        v->state == NM_PAUSING ||
                   v->state == NM_RESUMING || v->state == NM_KILLING;

    if (v->state == NM_RUNNING && c->work_left_usec == 0) {
        leave(w, c);
        return true;
    }
    if (!passing || w->now < c->due_usec)
        return false;
    if (v->state == NM_PAUSING)
        freeze_done(w, c);
    else if (v->state == NM_RESUMING)
        resume_done(w, c);
    else if (v->state == NM_KILLING || c->fails)
        leave(w, c);
    else if (nm_policy_container_in_preparation(v))
        enter(w, c, NM_SCHEDULED);
    else
        enter(w, c, NM_RUNNING);
    return true;
}

/* ---- use ------------------------------------------------------------------------------------- */

static bool on_cpu(const struct sim_container *c)
{
    return c->alive && (c->view.state == NM_RUNNING || c->view.state == NM_PAUSING ||
                        c->view.state == NM_KILLING);
}

/* Gives guaranteed containers the CPU that they demand. Opportunistic containers share the rest, as far as the squeeze
 * permits. */
static void share_cpu(struct simulation *w)
{
    uint64_t wanted[2] = {0}, given[2], left = nm_sub_u64(w->cpus, w->system_cpu);

    for (size_t i = 0; i < SIMULATION_MAX; i++)
        if (on_cpu(&w->all[i]))
            wanted[w->all[i].view.type] += w->all[i].cpu_demand;
    given[NM_GUARANTEED] = NM_MIN(wanted[NM_GUARANTEED], left);
    left -= given[NM_GUARANTEED];
    left = NM_MIN(left, w->squeeze);
    given[NM_OPPORTUNISTIC] = NM_MIN(wanted[NM_OPPORTUNISTIC], left);
    for (size_t i = 0; i < SIMULATION_MAX; i++) {
        struct sim_container *c = &w->all[i];
        enum nm_execution_type t = c->view.type;

        c->cpu_now = on_cpu(c) && wanted[t] > 0 ? c->cpu_demand * given[t] / wanted[t] : 0;
    }
}

/* Swaps out pages of a paused container, as the kernel does without a request by nmd. */
static void swap_out(struct simulation *w, struct sim_container *c)
{
    uint64_t bytes = simulation_chance(w, 0.02) ? simulation_below(w, c->memory_now + 1) : 0;

    c->memory_now -= bytes;
    c->swapped_now += bytes;
}

static void use_resources(struct simulation *w, uint64_t elapsed)
{
    /* Half of the time, the use of all containers is low, so that many containers are admitted. In the other half, all
     * containers use their full amounts. */
    uint64_t phase = w->now / (20 * NM_USEC_PER_SEC) % 2,
             before = (w->now - elapsed) / (20 * NM_USEC_PER_SEC) % 2;
    uint64_t quiet = w->phases && phase == 0 ? 8 : 1;
    bool surge = w->phases && phase == 1 && before == 0;

    share_cpu(w);
    for (size_t i = 0; i < SIMULATION_MAX; i++) {
        struct sim_container *c = &w->all[i];

        if (c->alive && c->view.state == NM_PAUSED)
            swap_out(w, c);
        if (!on_cpu(c))
            continue;
        c->view.cpu_usage_usec += elapsed * c->cpu_now / 1000;
        c->work_left_usec = nm_sub_u64(c->work_left_usec, elapsed);
        c->swapped_now -= NM_MIN(c->swapped_now, c->swapped_now / 2 + NM_MIB);
        if (c->memory_now < c->memory_target)
            c->memory_now += (c->memory_target - c->memory_now) / 2 + 1;
        else
            c->memory_now = c->memory_target;
        if (surge) {
            c->memory_target = c->view.request.memory_bytes;
            c->cpu_demand = c->view.request.cpu_millicores * 2;
        }
        if (simulation_chance(w, 0.05))
            c->memory_target = simulation_below(w, c->view.request.memory_bytes / quiet + 1);
        if (simulation_chance(w, 0.1))
            c->cpu_demand = simulation_below(w, c->view.request.cpu_millicores * 2 / quiet);
    }
    w->system_memory = w->system_memory_mean
                           ? w->system_memory_mean / 2 + simulation_below(w, w->system_memory_mean)
                           : 0;
    w->system_cpu =
        w->system_cpu_mean ? w->system_cpu_mean / 2 + simulation_below(w, w->system_cpu_mean) : 0;
}

/* Sets the time for which the container waits for CPU: a base value, a random part and a part that opportunistic
 * work causes. */
static void sample_stall(struct simulation *w, struct sim_container *c, uint64_t opportunistic_cpu)
{
    uint64_t own = c->view.seq % 4 == 0 ? 300 : 10;

    c->view.stall_known = simulation_chance(w, 0.9);
    c->view.stall_permille = (uint32_t)NM_MIN(
        own + between(w, 0, 100) + (w->crowded ? opportunistic_cpu * 400 / w->cpus : 0), UINT64_C(1000));
}

static void sample_container(struct sim_container *c, uint64_t now)
{
    struct nm_policy_container *v = &c->view;

    v->state_samples++;
    if (v->state < NM_RUNNING)
        return;
    v->n_samples++;
    v->measured = (struct nm_resources){c->memory_now, c->cpu_now};
    v->swapped_bytes = c->swapped_now;
    nm_policy_container_note_progress(v, now);
}

static void take_sample(struct simulation *w)
{
    struct nm_resources used = {w->settings.reserve.memory_bytes + w->system_memory, w->system_cpu};
    bool missed = simulation_chance(w, w->miss);
    uint64_t opportunistic_cpu = 0;

    for (size_t i = 0; i < SIMULATION_MAX; i++)
        if (w->all[i].alive && w->all[i].view.type == NM_OPPORTUNISTIC)
            opportunistic_cpu += w->all[i].cpu_now;
    for (size_t i = 0; i < SIMULATION_MAX; i++)
        if (w->all[i].alive) {
            if (missed)
                w->all[i].view.state_samples++;
            else
                sample_container(&w->all[i], w->now);
            sample_stall(w, &w->all[i], opportunistic_cpu);
            used.memory_bytes += w->all[i].memory_now;
            used.cpu_millicores += w->all[i].cpu_now;
        }
    if (missed) {
        /* either the sample is marked as invalid, or the old sample is kept and becomes stale */
        w->node.valid = w->node.valid && simulation_chance(w, 0.5);
        return;
    }
    w->node = (struct nm_policy_node){
        .valid = true,
        .cpu_valid = w->node.at_usec > 0 && !simulation_chance(w, w->miss / 4),
        .at_usec = w->now,
        .used = used,
        .swap_free_bytes =
            simulation_chance(w, 0.5) ? simulation_below(w, w->settings.capacity.memory_bytes) : 0,
        .uplink_utilization = (double)simulation_below(w, 100) / 100,
    };
}

/* ---- users ----------------------------------------------------------------------------------- */

static void pause_as_user(struct simulation *w, struct sim_container *c)
{
    c->view.last_cpu_millicores = c->view.measured.cpu_millicores;
    c->view.user_paused = true;
    pass_through(w, c, NM_PAUSING, 0.02);
}

static void interfere_with(struct simulation *w, struct sim_container *c)
{
    struct nm_policy_container *v = &c->view;

    switch (simulation_below(w, 6)) {
    case 0:
        if (v->state == NM_RUNNING)
            pause_as_user(w, c);
        break;
    case 1:
        if (v->state == NM_PAUSED)
            pass_through(w, c, NM_RESUMING, 0);
        break;
    case 2:
        if (v->state >= NM_RUNNING && v->state < NM_KILLING)
            pass_through(w, c, NM_KILLING, 0.05);
        break;
    case 3: /* promotion */
        if (v->type == NM_OPPORTUNISTIC && v->state >= NM_RUNNING && v->state < NM_KILLING &&
            nm_policy_check_request(&w->settings, w->views, w->in.n_views, NM_GUARANTEED,
                                    &v->request, v->cpu_is_share, v) == NM_REASON_NONE)
            v->type = NM_GUARANTEED;
        break;
    case 4: /* demotion */
        if (v->type == NM_GUARANTEED && v->state >= NM_RUNNING && v->state < NM_KILLING)
            v->type = NM_OPPORTUNISTIC;
        break;
    case 5:
        w->shed_to = simulation_chance(w, 0.5) ? (uint32_t)simulation_below(w, 6) : UINT32_MAX;
        w->shed_limited_to = simulation_chance(w, 0.5) ? (uint32_t)simulation_below(w, 4) : UINT32_MAX;
        w->draining = simulation_chance(w, 0.1);
        w->unhealthy = simulation_chance(w, 0.1);
        break;
    }
}

/* Changes thresholds, orders and limits while containers run, as a reload does. The queue policy does not change. The
 * queue's maximum length is never lowered, because the queue may have that length now. The capacity does not change, so
 * that all requests can still be met. */
static void reload(struct simulation *w)
{
    enum nm_queue_policy queue_policy = w->settings.queue_policy;
    uint32_t queue_max_length = w->settings.queue_max_length;

    random_settings(w);
    w->settings.queue_policy = queue_policy;
    w->settings.queue_max_length = NM_MAX(queue_max_length, w->settings.queue_max_length);
}

static void interfere(struct simulation *w)
{
    if (simulation_chance(w, w->reload))
        reload(w);
    if (!simulation_chance(w, w->interfere))
        return;
    for (size_t i = 0; i < SIMULATION_MAX; i++)
        if (w->all[i].alive && simulation_chance(w, 0.2))
            interfere_with(w, &w->all[i]);
}

void simulation_calm(struct simulation *w)
{
    w->calm = true;
    w->period = w->settings.period_usec = NM_USEC_PER_SEC;
    w->settings.sample_max_age_usec = NM_MAX(w->settings.sample_max_age_usec, w->period);
    w->miss = w->interfere = w->arrive = w->reload = w->sleep = 0;
    w->draining = w->unhealthy = false;
    w->shed_to = w->shed_limited_to = UINT32_MAX;
    w->settings.uplink_threshold = 0;
    w->settings.offered = (struct nm_resources){0}; /* with a smaller offer, a large container would wait for ever */
    w->system_memory_mean = w->system_cpu_mean = 0;
    for (size_t i = 0; i < SIMULATION_MAX; i++)
        w->all[i].work_left_usec = NM_MIN(w->all[i].work_left_usec, 3 * NM_USEC_PER_SEC);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void fill_input(struct simulation *w, enum nm_policy_trigger trigger)
{
    size_t n = 0;

    for (size_t i = 0; i < SIMULATION_MAX; i++)
        if (w->all[i].alive)
            w->views[n++] = &w->all[i].view;
    w->in = (struct nm_policy_input){
        .trigger = trigger,
        .now_usec = w->now,
        .suspended_usec = w->suspended,
        .node = w->node,
        .reclaim_bytes_per_sec = w->reclaim_bytes_per_sec,
        .views = w->views,
        .n_views = n,
        .apps = w->apps,
        .n_apps = SIMULATION_APPS,
        .draining = w->draining,
        .unhealthy = w->unhealthy,
        .kernel_kills = w->kernel_kills,
        .shed_to = w->shed_to,
        .shed_limited_to = w->shed_limited_to,
    };
}

/* Suspends the host. No container makes progress meanwhile. */
static void sleep_a_while(struct simulation *w)
{
    uint64_t slept = between(w, 2, 1200) * NM_USEC_PER_SEC;

    w->now += slept;
    w->suspended += slept;
    w->next_sample = NM_MAX(w->next_sample, w->now);
}

void simulation_next(struct simulation *w)
{
    uint64_t elapsed = w->calm ? w->period : simulation_below(w, w->period / 2) + 1;
    enum nm_policy_trigger trigger = NM_TRIGGER_CHANGE;

    elapsed = NM_MIN(elapsed, w->next_sample - w->now);
    w->now += elapsed;
    w->kernel_kills = !w->calm && simulation_chance(w, 0.003);
    if (simulation_chance(w, w->sleep))
        sleep_a_while(w);
    use_resources(w, elapsed);
    for (size_t i = 0; i < SIMULATION_MAX; i++)
        if (w->all[i].alive) {
            (void)arrive_in_state(w, &w->all[i]);
            w->all[i].view.reclaiming =
                w->all[i].view.reclaiming && w->now < w->all[i].reclaim_due_usec;
        }
    fill_input(w, trigger);
    if (simulation_chance(w, w->arrive))
        arrive(w, 1);
    if (w->arrive > 0 && w->settings.queue_max_length >= CROWD && simulation_chance(w, 0.05))
        for (int i = 0; i < CROWD; i++) {
            fill_input(w, trigger); /* the input for the next arrival must count this one */
            arrive(w, 100);
        }
    interfere(w);
    if (w->now >= w->next_sample) {
        take_sample(w);
        w->next_sample = w->now + w->period;
        trigger = NM_TRIGGER_SAMPLE;
    } else if (simulation_chance(w, 0.05)) {
        take_sample(w);
        trigger = NM_TRIGGER_PRESSURE;
    } else if (simulation_chance(w, 0.05)) {
        take_sample(w);
        trigger = NM_TRIGGER_EXTRA_SAMPLE;
    }
    fill_input(w, trigger);
    w->n_rounds++;
}

/* ---- actions --------------------------------------------------------------------------------- */

static struct sim_container *sim_container_of(const struct nm_policy_action *a)
{
    return (struct sim_container *)((char *)a->target - offsetof(struct sim_container, view));
}

static void act(struct simulation *w, const struct nm_policy_action *a)
{
    struct sim_container *c = sim_container_of(a);

    w->n_actions[a->type]++;
    w->n_reasons[a->reason]++;
    switch (a->type) {
    case NM_ACTION_ADMIT:
        pass_through(w, c, NM_SCHEDULED, 0);
        c->view.admitted = true;
        c->view.passed = a->on_behalf_of != NULL;
        c->view.started_usec = w->now;
        break;
    case NM_ACTION_PAUSE:
        c->view.last_cpu_millicores = c->view.measured.cpu_millicores;
        c->view.user_paused = false;
        pass_through(w, c, NM_PAUSING, 0.02);
        break;
    case NM_ACTION_RESUME:
        if (c->view.state == NM_PAUSING)
            c->view.freeze_failed_usec = w->now;
        pass_through(w, c, NM_RESUMING, 0);
        break;
    case NM_ACTION_RECLAIM:
        c->swapped_now += c->memory_now;
        c->memory_now -= NM_MIN(c->memory_now, simulation_below(w, a->predicted.memory_bytes + 1));
        c->swapped_now -= c->memory_now;
        c->view.reclaimed = a->target->state == NM_PAUSED;
        if (a->target->state == NM_RUNNING) {
            c->view.reclaimed_usec = w->now;
            c->view.reclaiming = true;
            c->reclaim_due_usec = w->now + simulation_below(w, 2 * a->within_usec);
        }
        break;
    case NM_ACTION_KILL:
        pass_through(w, c, NM_KILLING, 0.05);
        break;
    case NM_ACTION_SHED:
        c->alive = false;
        break;
    }
}

void simulation_act(struct simulation *w)
{
    w->n_reasons[w->verdict.queue_reason]++;
    w->n_reasons[w->verdict.guaranteed_reason]++;
    w->n_reasons[w->verdict.preempt_wait_reason]++;
    w->n_squeezed += w->verdict.squeeze_millicores != NM_NO_SQUEEZE;
    w->n_reasons[w->verdict.squeeze_reason]++;
    for (size_t i = 0; i < w->verdict.n_actions; i++)
        act(w, &w->verdict.actions[i]);
    w->squeeze = w->verdict.squeeze_millicores;
}
