/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The squeeze: one CPU quota for all running opportunistic containers together. The quota takes effect within one
 * scheduler period, harms less than a freeze and is easily undone, so it is tried first.
 *
 * The controller aims for the middle between alpha and beta. `own` is the CPU use of opportunistic
 * containers during the last interval, `others` all other use:
 *
 *   over beta            quota = middle - others. The quota is a cap, so use can't exceed the
 *                        middle unless other use grows: one step is enough.
 *   between              unchanged. This dead band prevents oscillation: no quota moves use out of
 *                        the band by itself.
 *   under alpha          quota * (middle - others) / own, at most doubled, at least middle - others.
 *                        The step is proportional because the quota is divided among the containers:
 *                        a container that needs more than its part may be throttled although the sum
 *                        is not used up. After the step, use is at the middle again.
 *   each could have      lifted, when the quota's even part for each container is the whole node.
 *   the whole node       An unused quota doubles with every sample, so it is lifted after a few
 *                        samples. A quota above the node's capacity can have an effect: with one
 *                        busy and nine sleeping containers, only the busy container's even part of
 *                        the quota matters.
 *
 * The quota changes only with a CPU sample. A second quota exists for stalls of guaranteed containers (below); the
 * tighter quota applies.
 */

#include "agent/policy/round.h"

#define STALL_SAMPLES 2
#define LEAST_PATIENCE 2U
#define MOST_PATIENCE 8U
#define FORGIVEN_USEC (600 * NM_USEC_PER_SEC) /* patience is reset after this time without a squeeze */
#define LEAST_BACKOFF_USEC (30 * NM_USEC_PER_SEC)
#define MOST_BACKOFF_USEC (600 * NM_USEC_PER_SEC)
#define MOST_BLIND 8              /* the squeeze is lifted after this many samples without a stall figure */
#define FALL_DIVISOR 8            /* per sample the learnt value falls by the difference divided by this number */
#define IDLE_DIVISOR 50           /* the capacity divided by this number; smaller use delays no other container */
#define FLOOR_TOLERANCE_DIVISOR 4 /* the floor divided by this number: by this amount use may exceed a quota */

/* Returns the minimum quota of all opportunistic containers together. */
static uint64_t squeeze_floor(const struct nm_round *r)
{
    return r->s->squeeze_floor_millicores * r->n_opportunistic_active;
}

/*
 * ---- stalls -----------------------------------------------------------------------------------
 *
 * The guard against CPU stalls of guaranteed containers.
 *
 * Where the kernel gives opportunistic work only idle CPU time (cpu.idle), high CPU use does not show whether
 * guaranteed containers suffer, and thresholds on use may be high. The stalls of guaranteed containers show it: how
 * long they wait for a CPU. A container may also stall without opportunistic work, with more threads than CPUs or
 * beside other guaranteed containers. So each stall is compared with the container's own base value, its stall without
 * opportunistic work:
 *
 *   learnt     In samples in which opportunistic containers used almost no CPU: no opportunistic
 *              container ran, they were idle, or they were squeezed to their floor. The value rises
 *              immediately to the measured stall and falls slowly, because load varies.
 *   not learnt The base value counts as 0. The next squeeze goes to the floor in one step, and the
 *              value is learnt there.
 *
 *   begins     when a container's stall exceeds its base value and the margin in STALL_SAMPLES
 *              samples in a row
 *   tightened  by half with each further such sample, down to the floor
 *   loosened   after `patience` calm samples, or immediately if the quota isn't used up. The quota is
 *              doubled if it isn't used up, or if it is below half of the quota that was too large;
 *              otherwise it is raised by a quarter. It is lifted where each container could have the
 *              whole node. If the stall returns, patience doubles
 *   in vain    when the stall continues at the floor: the stall is the container's own, and becomes
 *              its base value. The squeeze is lifted immediately and no squeeze begins for a time. This
 *              time doubles each time the squeeze is in vain again
 *
 * Only opportunistic containers are restricted, and only in CPU: a stall never causes a freeze or a kill.
 */

/* The result of one sample for all guaranteed containers. */
struct finding {
    const struct nm_policy_container *worst; /* NULL: no container stalls more than allowed */
    uint32_t excess_permille;    /* difference between the stall of `worst` and the allowed stall */
    bool is_known;               /* at least one container's stall is known */
};

static bool has_usable_stall(const struct nm_round *r, const struct nm_policy_container *v)
{
    return v->type == NM_GUARANTEED && v->state == NM_RUNNING && v->stall_known &&
           !nm_estimate_in_warmup(r->s, v, r->in->now_usec);
}

/* Applies the values learnt from the previous sample. A sample's own values count from the next sample on, so that all
 * rounds with the same sample see the same values. */
static void begin_sample(struct nm_stall *s, uint64_t sample_usec)
{
    if (s->at_usec == sample_usec)
        return;
    s->at_usec = sample_usec;
    s->base_permille = s->next_permille;
    s->has_base = s->has_next_base;
}

static void update_base(struct nm_stall *s, uint32_t seen_permille)
{
    if (!s->has_base || seen_permille > s->base_permille)
        s->next_permille = seen_permille;
    else
        s->next_permille = s->base_permille - (s->base_permille - seen_permille) / FALL_DIVISOR;
    s->has_next_base = true;
}

/* Returns whether opportunistic work can't be the cause of any stall in this sample. */
static bool is_quiet(const struct nm_round *r)
{
    uint64_t floor = squeeze_floor(r), idle = r->capacity[NM_CPU] / IDLE_DIVISOR;
    uint64_t quota = NM_MIN(r->p->guard.quota_millicores, r->p->squeeze_millicores);

    if (r->opportunistic_cpu <= idle)
        return true;
    return quota <= floor &&
           r->opportunistic_cpu <= floor + floor / FLOOR_TOLERANCE_DIVISOR + idle;
}

static void assess(const struct nm_round *r, const struct nm_policy_container *v, struct finding *f)
{
    uint32_t allowed = v->stall.base_permille + (uint32_t)(r->s->stall_margin * 1000);
    uint32_t excess = v->stall_permille > allowed ? v->stall_permille - allowed : 0;

    f->is_known = true;
    if (excess == 0 || excess < f->excess_permille ||
        (excess == f->excess_permille && v->seq > f->worst->seq))
        return;
    f->worst = v;
    f->excess_permille = excess;
}

static void survey_stalls(struct nm_round *r, struct finding *f)
{
    bool quiet = is_quiet(r);

    for (size_t i = 0; i < r->in->n_views; i++) {
        struct nm_policy_container *v = r->in->views[i];

        if (v->type == NM_OPPORTUNISTIC)
            v->stall = (struct nm_stall){0};
        if (!has_usable_stall(r, v))
            continue;
        begin_sample(&v->stall, r->in->node.at_usec);
        assess(r, v, f);
        if (quiet)
            update_base(&v->stall, v->stall_permille);
    }
}

static void lift(struct nm_stall_guard *g)
{
    g->quota_millicores = NM_NO_SQUEEZE;
    g->over = g->calm = 0;
    g->loosened = false;
}

static void begin(struct nm_round *r, const struct finding *f)
{
    struct nm_stall_guard *g = &r->p->guard;

    if (g->patience == 0 || r->in->now_usec > nm_add_u64(g->not_before_usec, FORGIVEN_USEC))
        g->patience = LEAST_PATIENCE;
    assert(f->worst && g->quota_millicores == NM_NO_SQUEEZE);
    g->ceiling_millicores = r->opportunistic_cpu / 2;
    g->quota_millicores = !f->worst->stall.has_base ? 0 : g->ceiling_millicores;
    g->seq = f->worst->seq;
    g->stall_permille = f->worst->stall_permille;
    g->base_permille = f->worst->stall.base_permille;
    g->calm = 0;
}

static void give_up(struct nm_round *r)
{
    struct nm_stall_guard *g = &r->p->guard;

    g->backoff_usec = g->backoff_usec == 0 ? LEAST_BACKOFF_USEC : NM_MIN(2 * g->backoff_usec, MOST_BACKOFF_USEC);
    g->not_before_usec = nm_add_u64(r->in->now_usec, g->backoff_usec);
    lift(g);
}

static void tighten(struct nm_round *r, const struct finding *f)
{
    struct nm_stall_guard *g = &r->p->guard;

    assert(f->worst && g->quota_millicores != NM_NO_SQUEEZE);
    if (is_quiet(r)) {
        give_up(r);
        return;
    }
    if (g->loosened)
        g->patience = NM_MIN(2 * g->patience, MOST_PATIENCE);
    g->loosened = false;
    g->calm = 0;
    g->ceiling_millicores = NM_MIN(g->quota_millicores, r->opportunistic_cpu) / 2;
    g->quota_millicores = !f->worst->stall.has_base ? 0 : g->ceiling_millicores;
}

static void loosen(struct nm_round *r)
{
    struct nm_stall_guard *g = &r->p->guard;
    uint64_t q = g->quota_millicores;
    bool unused = r->opportunistic_cpu < q - q / 4, far = unused || q < g->ceiling_millicores;

    assert(q != NM_NO_SQUEEZE);
    g->backoff_usec = 0; /* the squeeze has helped */
    if (++g->calm < g->patience && !unused)
        return;
    g->calm = 0;
    g->loosened = true;
    g->quota_millicores = nm_add_u64(q, far ? NM_MAX(q, UINT64_C(1)) : q / 4 + 1);
    g->not_before_usec = r->in->now_usec; /* the time at which the squeeze was last needed */
}

static void step(struct nm_round *r)
{
    struct nm_stall_guard *g = &r->p->guard;
    struct finding f = {0};

    survey_stalls(r, &f);
    g->blind = f.is_known ? 0 : g->blind + (g->blind < MOST_BLIND);
    if (g->blind == MOST_BLIND)
        lift(g);
    if (!f.is_known)
        return;
    g->over = f.worst ? g->over + (g->over < STALL_SAMPLES) : 0;
    if (g->quota_millicores == NM_NO_SQUEEZE) {
        if (g->over >= STALL_SAMPLES && !is_quiet(r) && r->in->now_usec >= g->not_before_usec)
            begin(r, &f);
    } else if (f.worst) {
        tighten(r, &f);
    } else {
        loosen(r);
    }
}

static const struct nm_policy_container *find(const struct nm_round *r, uint64_t seq)
{
    for (size_t i = 0; i < r->in->n_views; i++)
        if (r->in->views[i]->seq == seq)
            return r->in->views[i];
    return NULL;
}

static uint64_t stall_quota(struct nm_round *r)
{
    struct nm_stall_guard *g = &r->p->guard;

    if (!r->s->guard_stall || !r->s->can_squeeze || !r->s->over_allocation)
        lift(g);
    else if (r->in->trigger == NM_TRIGGER_SAMPLE && r->has_new_sample && r->cpu_known)
        step(r);
    if (r->n_opportunistic_active == 0)
        lift(g);
    if (g->quota_millicores == NM_NO_SQUEEZE)
        return NM_NO_SQUEEZE;
    g->quota_millicores = NM_MAX(g->quota_millicores, squeeze_floor(r));
    if (g->quota_millicores / r->n_opportunistic_active >= r->capacity[NM_CPU]) {
        lift(g);
        return NM_NO_SQUEEZE;
    }
    r->v->stall_view = find(r, g->seq);
    r->v->stall_permille = g->stall_permille;
    r->v->stall_base_permille = g->base_permille;
    return g->quota_millicores;
}

/* ---- CPU use --------------------------------------------------------------------------------- */

static uint64_t loosened(uint64_t quota, uint64_t room, uint64_t own)
{
    double step = own > 0 ? (double)room / (double)own : 2;

    assert(quota != NM_NO_SQUEEZE);
    if (step < 1)
        return quota;
    return (uint64_t)((double)quota * NM_MIN(step, 2.0));
}

static void steer(struct nm_round *r)
{
    struct nm_policy *p = r->p;
    uint64_t own = r->opportunistic_cpu, others = nm_sub_u64(r->in_use[NM_CPU], own);
    uint64_t middle = r->alpha[NM_CPU] + (r->beta[NM_CPU] - r->alpha[NM_CPU]) / 2;
    uint64_t room = nm_sub_u64(middle, others);

    if (nm_round_cpu_over(r))
        p->squeeze_millicores = NM_MIN(p->squeeze_millicores, room);
    else if (p->squeeze_millicores != NM_NO_SQUEEZE && r->in_use[NM_CPU] < r->alpha[NM_CPU])
        p->squeeze_millicores = NM_MAX(loosened(p->squeeze_millicores, room, own), room);
}

static void apply_bounds(struct nm_round *r)
{
    struct nm_policy *p = r->p;

    if (p->squeeze_millicores != NM_NO_SQUEEZE)
        p->squeeze_millicores = NM_MAX(p->squeeze_millicores, squeeze_floor(r));
    if (p->squeeze_millicores / NM_MAX(r->n_opportunistic_active, (size_t)1) >= r->capacity[NM_CPU])
        p->squeeze_millicores = NM_NO_SQUEEZE;
}

void nm_policy_squeeze(struct nm_round *r)
{
    uint64_t stall;

    if (!r->s->can_squeeze || !r->s->over_allocation || r->n_opportunistic_active == 0)
        r->p->squeeze_millicores = NM_NO_SQUEEZE;
    else if (r->in->trigger != NM_TRIGGER_PRESSURE && r->has_new_sample && r->cpu_known)
        steer(r);
    apply_bounds(r);
    stall = stall_quota(r);
    r->squeeze_millicores = NM_MIN(r->p->squeeze_millicores, stall);
    r->v->squeeze_millicores = r->squeeze_millicores;
    if (r->squeeze_millicores != NM_NO_SQUEEZE)
        r->v->squeeze_reason = stall < r->p->squeeze_millicores ? NM_REASON_GUARANTEED_STALLED
                                                                : NM_REASON_CPU_OVER_BETA;
}
