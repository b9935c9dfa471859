/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See replay.h. This file has the main loop and the statistics. The loop advances to the next event, decides if a
 * decision is due, and acts. The statistics don't affect the replay.
 *
 * The state is constant between two events. Means are therefore computed from areas and not from samples: each interval
 * is weighted by its length, with the use before time advances. For percentiles each interval is added to a histogram,
 * because a long trace has too many intervals to keep and sort.
 */

#include "sim/replay.h"

#include <assert.h>

#include "sim/progress.h"
#include "util/clock.h"

#define BINS 2001 /* bins of a thousandth of the capacity, up to 200 % */

struct run {
    struct nm_sim_node *w;
    struct nm_sim_result *result;
    uint64_t bucket_usec;
    struct nm_policy_verdict verdict;
    double memory_area, cpu_area, memory_allocated_area, cpu_allocated_area; /* share x usec */
    uint64_t over_beta[NM_RESOURCE_COUNT], seen_usec;
    uint64_t memory_bins[BINS], cpu_bins[BINS]; /* usec */
    uint64_t slow_bins[BINS], slow_usec; /* guaranteed containers' slowdown in thousandths */
    uint32_t n_opportunistic;                   /* number of running opportunistic containers, as of the last round */
};

/* ---- over time ----------------------------------------------------------- */

static double share(uint64_t use, uint64_t capacity)
{
    return capacity > 0 ? (double)use / (double)capacity : 0;
}

static size_t bin_of(double x)
{
    assert(x >= 0);
    return x * 1000 >= BINS - 1 ? BINS - 1 : (size_t)(x * 1000);
}

static double allocated_memory(const struct run *run)
{
    const struct nm_policy_verdict *v = &run->verdict;

    return share(v->allocated_guaranteed.memory_bytes + v->allocated_opportunistic.memory_bytes,
                 run->w->settings.capacity.memory_bytes);
}

/* Adds an interval to the bucket in which the interval begins. An interval is at most as long as a sampling period, and
 * a bucket is at least as long, so the error is at most one bucket, which isn't visible. */
static void fill_bucket(struct run *run, uint64_t elapsed, double memory, double cpu)
{
    struct nm_sim_node *w = run->w;
    uint64_t i = (w->now_usec - w->begin_usec) / run->bucket_usec;
    struct nm_sim_bucket *b;
    double part = (double)elapsed;

    b = &run->result->buckets[NM_MIN(i, (uint64_t)run->result->n_buckets - 1)];
    b->usec += elapsed;
    b->memory += memory * part;
    b->cpu += cpu * part;
    b->memory_most = NM_MAX(b->memory_most, memory);
    b->memory_allocated += part * allocated_memory(run);
    b->opportunistic += part * run->n_opportunistic;
}

/* Accounts the speed of guaranteed containers. The speed is 1 if the container gets all that it wants, without
 * interference. */
static void account_speed(struct run *run, uint64_t elapsed)
{
    const struct nm_sim_node *w = run->w;

    for (size_t i = 0; i < w->n_live; i++) {
        const struct nm_sim_container *c = nm_sim_container_of(w->views[i]);
        double slow;

        if (c->view.type != NM_GUARANTEED || c->view.state != NM_RUNNING || c->wanted == 0)
            continue;
        slow = c->got > 0 ? (double)c->wanted / c->got / w->speed : 3;
        run->slow_bins[bin_of(slow - 1)] += elapsed;
        run->slow_usec += elapsed;
    }
}

/* Accounts the interval up to to_usec, in which the state is constant. The use is the current use, not that of the last
 * sample. The allocation is that of the last round. */
static void account(struct run *run, uint64_t to_usec)
{
    const struct nm_sim_node *w = run->w;
    const struct nm_policy_settings *s = &w->settings;
    const struct nm_resources *c = &s->capacity;
    uint64_t elapsed = to_usec - w->now_usec;
    double part = (double)elapsed, memory, cpu;

    if (elapsed == 0)
        return;
    memory = share(w->memory_bytes + nm_sub_u64(w->system.memory_bytes, s->reserve.memory_bytes),
                   c->memory_bytes);
    cpu = share(w->got_millicores +
                    nm_sub_u64(w->system.cpu_millicores, s->reserve.cpu_millicores),
                c->cpu_millicores);
    run->seen_usec += elapsed;
    run->memory_area += memory * part;
    run->cpu_area += cpu * part;
    run->memory_bins[bin_of(memory)] += elapsed;
    run->cpu_bins[bin_of(cpu)] += elapsed;
    run->memory_allocated_area += part * allocated_memory(run);
    run->cpu_allocated_area +=
        part * share(run->verdict.allocated_guaranteed.cpu_millicores +
                         run->verdict.allocated_opportunistic.cpu_millicores,
                     c->cpu_millicores);
    run->over_beta[NM_MEMORY] += memory > s->preemption_threshold.memory ? elapsed : 0;
    run->over_beta[NM_CPU] += cpu > s->preemption_threshold.cpu ? elapsed : 0;
    run->result->memory_most = NM_MAX(run->result->memory_most, memory);
    fill_bucket(run, elapsed, memory, cpu);
    account_speed(run, elapsed);
}

static double percentile(const uint64_t bins[BINS], uint64_t whole, double p)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < BINS; i++) {
        sum += bins[i];
        if ((double)sum >= p * (double)whole)
            return (double)i / 1000;
    }
    return (BINS - 1) / 1000.0;
}

/* ---- rounds -------------------------------------------------------------- */

static void count_actions(struct run *run)
{
    struct nm_sim_result *r = run->result;
    uint64_t i = (run->w->now_usec - run->w->begin_usec) / run->bucket_usec;

    for (size_t k = 0; k < run->verdict.n_actions; k++) {
        const struct nm_policy_action *a = &run->verdict.actions[k];

        r->n_admissions += a->type == NM_ACTION_ADMIT;
        r->n_pauses += a->type == NM_ACTION_PAUSE;
        r->n_resumes += a->type == NM_ACTION_RESUME;
        r->n_reclaims += a->type == NM_ACTION_RECLAIM;
        if (a->type == NM_ACTION_KILL) {
            r->n_kills++;
            r->kills[a->reason]++;
            r->buckets[NM_MIN(i, (uint64_t)r->n_buckets - 1)].kills++;
        }
    }
}

/* Checks the policy's rules. A violation doesn't end the replay, because the number of violations is reported too. The
 * first violation is kept for the report, because later violations may result from it. */
static void check(struct run *run)
{
    const struct nm_sim_node *w = run->w;
    const char *broken = nm_policy_check_invariants(&w->settings, &w->input, &run->verdict);

    if (!broken)
        return;
    if (run->result->n_violations++ > 0)
        return;
    (void)snprintf(run->result->first_violation, sizeof run->result->first_violation, "%s", broken);
    run->result->first_violation_usec = w->now_usec - w->begin_usec;
}

/* Makes a round. The name has an underscore because libm has round(). */
static void round_(struct run *run)
{
    struct nm_sim_node *w = run->w;

    nm_policy_decide(w->policy, &w->settings, &w->input, &run->verdict);
    check(run);
    run->result->n_rounds++;
    run->result->rounds[w->input.trigger]++;
    run->result->n_decisions += w->input.n_views;
    if (run->verdict.n_actions > 0)
        count_actions(run);
    nm_sim_node_act(w, &run->verdict);
}

/* Counts running opportunistic containers for the picture. Counts only once per period, because rounds may be much more
 * frequent. */
static void count_opportunistic(struct run *run)
{
    run->n_opportunistic = 0;
    for (size_t i = 0; i < run->w->n_live; i++)
        run->n_opportunistic += run->w->views[i]->type == NM_OPPORTUNISTIC &&
                                run->w->views[i]->state == NM_RUNNING;
}

static int simulate(struct run *run)
{
    struct nm_sim_node *w = run->w;

    while (w->now_usec < w->end_usec) {
        uint64_t to = nm_sim_node_next(w);
        int r;

        account(run, to);
        nm_progress_at(w->now_usec - w->begin_usec, w->end_usec - w->begin_usec);
        r = nm_sim_node_advance(w, to);
        if (r < 0)
            return r;
        if (r > 0)
            round_(run);
        if (r > 0 && w->input.trigger == NM_TRIGGER_SAMPLE)
            count_opportunistic(run);
    }
    nm_sim_node_settle(w);
    return 0;
}

/* ---- totals -------------------------------------------------------------- */

struct waits {
    double *usec;
    size_t n;
};

static void sum_up_end(struct nm_sim_jobs *j, const struct nm_sim_container *c)
{
    double cpu = (double)c->cpu_work / 1e9, ran = (double)c->progress_usec / 1e6;

    switch (c->end) {
    case NM_SIM_REFUSED:
        j->refused++;
        break;
    case NM_SIM_DONE:
        j->done++;
        j->work_done += cpu;
        j->time_done += ran;
        /* contains the sum until the mean is computed */
        j->slowdown_mean += c->job->run_usec > 0 ? (double)(c->ended_usec - c->running_usec) /
                                                       (double)c->job->run_usec
                                                 : 1; /* value for a launch that failed */
        break;
    case NM_SIM_LIMIT: /* the job itself caused its end: its work doesn't count as lost, because the job could never be
                          completed */
        j->limit++;
        break;
    case NM_SIM_PREEMPTED:
    case NM_SIM_OOM:
        j->preempted += c->end == NM_SIM_PREEMPTED;
        j->oom += c->end == NM_SIM_OOM;
        j->work_lost += cpu;
        j->time_lost += ran;
        break;
    default:
        /* Paused jobs count as running, because they are admitted. Work of jobs that haven't ended isn't lost yet. */
        if (c->view.admitted)
            j->running++;
        else
            j->waiting++;
        j->work_open += cpu;
        break;
    }
}

static void sum_up_one(struct run *run, const struct nm_sim_container *c, struct waits waits[2])
{
    struct nm_sim_result *r = run->result;
    /* the job's type at submission, so that a promotion doesn't move the job to another row */
    enum nm_execution_type type = c->job->type;
    uint64_t paused = c->paused_total_usec;

    r->jobs[type].submitted++;
    sum_up_end(&r->jobs[type], c);
    if (c->end == NM_SIM_LIVE && c->view.paused_usec > 0)
        paused += run->w->now_usec - c->view.paused_usec;
    r->paused_sec += (double)paused / 1e6;
    r->swap_in_sec += (double)c->swapping_in_usec / 1e6;
    /* OOM kills count by the type at the time of the kill, because a promotion should reduce the risk of such a kill */
    r->oom_opportunistic += c->end == NM_SIM_OOM && c->view.type == NM_OPPORTUNISTIC;
    r->oom_guaranteed += c->end == NM_SIM_OOM && c->view.type == NM_GUARANTEED;
    /* The wait of jobs that were started before the trace isn't known. An opportunistic job that was refused or
     * never started counts as waiting until the end of the trace. Otherwise the node that accepts the fewest jobs
     * would seem to have the shortest wait. A guaranteed job that is refused is immediately started on another node,
     * in all rows. */
    if (!c->job->present && (c->running_usec > 0 || type == NM_OPPORTUNISTIC)) {
        uint64_t until_usec = c->running_usec > 0 ? c->running_usec : run->w->now_usec;

        waits[type].usec[waits[type].n++] = (double)(until_usec - run->w->begin_usec - c->job->submit_usec);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void sum_up_waits(struct nm_sim_jobs *j, struct waits *waits)
{
    double sum = 0;

    if (j->done > 0)
        j->slowdown_mean /= (double)j->done;
    if (waits->n == 0)
        return;
    qsort(waits->usec, waits->n, sizeof *waits->usec, by_size);
    for (size_t i = 0; i < waits->n; i++)
        sum += waits->usec[i];
    j->wait_mean_usec = sum / (double)waits->n;
    j->wait_p95_usec = waits->usec[(waits->n - 1) * 95 / 100];
}

static void sum_up_time(struct run *run)
{
    struct nm_sim_result *r = run->result;
    double whole = (double)NM_MAX(run->seen_usec, UINT64_C(1));

    r->memory_mean = run->memory_area / whole;
    r->cpu_mean = run->cpu_area / whole;
    r->memory_p95 = percentile(run->memory_bins, run->seen_usec, 0.95);
    r->cpu_p95 = percentile(run->cpu_bins, run->seen_usec, 0.95);
    r->jobs[NM_GUARANTEED].slowdown_p99 =
        1 + percentile(run->slow_bins, NM_MAX(run->slow_usec, UINT64_C(1)), 0.99);
    r->memory_over_beta = (double)run->over_beta[NM_MEMORY] / whole;
    r->cpu_over_beta = (double)run->over_beta[NM_CPU] / whole;
    r->memory_allocated = run->memory_allocated_area / whole;
    r->cpu_allocated = run->cpu_allocated_area / whole;
    for (unsigned i = 0; i < r->n_buckets; i++) {
        struct nm_sim_bucket *b = &r->buckets[i];
        double part = (double)NM_MAX(b->usec, UINT64_C(1));

        b->memory /= part;
        b->cpu /= part;
        b->memory_allocated /= part;
        b->opportunistic /= part;
    }
}

static int run_oracle(struct run *run)
{
    const struct nm_sim_node *w = run->w;
    _cleanup_free_ bool *refused = calloc(w->load->n_jobs + 1, sizeof *refused);

    if (!refused)
        return -ENOMEM;
    for (size_t i = 0; i < w->next_job; i++)
        refused[i] = w->all[i].end == NM_SIM_REFUSED;
    return nm_oracle_cpu_sec(w->load, &w->settings, refused, w->period_usec,
                             &run->result->oracle_cpu_sec);
}

static int sum_up(struct run *run, nm_sim_job_cb_t cb, void *userdata)
{
    const struct nm_workload *load = run->w->load;
    _cleanup_free_ double *guaranteed = calloc(load->n_jobs + 1, sizeof *guaranteed);
    _cleanup_free_ double *opportunistic = calloc(load->n_jobs + 1, sizeof *opportunistic);
    struct waits waits[2] = {{guaranteed, 0}, {opportunistic, 0}};

    if (!guaranteed || !opportunistic)
        return -ENOMEM;
    for (size_t i = 0; i < run->w->next_job; i++) {
        sum_up_one(run, &run->w->all[i], waits);
        if (cb)
            cb(&run->w->all[i], run->w->begin_usec, userdata);
    }
    for (int t = 0; t < 2; t++)
        sum_up_waits(&run->result->jobs[t], &waits[t]);
    sum_up_time(run);
    return run_oracle(run);
}

/* ---- the whole replay ---------------------------------------------------- */

int nm_sim_run(const struct nm_workload *load, const struct nm_config *config, const char *name,
               nm_sim_job_cb_t cb, void *userdata, struct nm_sim_result *ret, char **ret_message)
{
    _cleanup_(nm_sim_node_freep) struct nm_sim_node *w = NULL;
    _cleanup_free_ struct run *run = calloc(1, sizeof *run);
    uint64_t n_buckets, begun;
    int r;

    *ret_message = NULL;
    if (!run)
        return -ENOMEM;
    r = nm_sim_node_new(load, config, &w, ret_message);
    if (r < 0)
        return r;
    *ret = (struct nm_sim_result){.settings = w->settings,
                                  .duration_usec = load->duration_usec,
                                  .period_usec = w->period_usec};
    (void)snprintf(ret->name, sizeof ret->name, "%s", name);
    /* no bucket is shorter than a period, because some buckets would be empty, and the curves would have gaps */
    n_buckets = load->duration_usec / w->period_usec;
    n_buckets = NM_MIN(n_buckets, (uint64_t)NM_SIM_BUCKETS);
    ret->n_buckets = (unsigned)NM_MAX(n_buckets, UINT64_C(1));
    run->w = w;
    run->result = ret;
    run->bucket_usec = load->duration_usec / ret->n_buckets + 1;
    /* The real clock is used only for the reported speed, never for the replay itself. */
    begun = nm_clock_usec(CLOCK_MONOTONIC);
    r = simulate(run);
    ret->spent_usec = nm_clock_usec(CLOCK_MONOTONIC) - begun;
    return r < 0 ? r : sum_up(run, cb, userdata);
}

double nm_sim_useful_work(const struct nm_sim_result *r)
{
    double sum = 0;

    for (int t = 0; t < 2; t++)
        sum += r->jobs[t].work_done + r->jobs[t].work_open;
    return sum;
}

double nm_sim_lost_share(const struct nm_sim_result *r)
{
    const struct nm_sim_jobs *j = &r->jobs[NM_OPPORTUNISTIC];
    double all = j->work_done + j->work_open + j->work_lost;

    return all > 0 ? j->work_lost / all : 0;
}

double nm_sim_oracle_share(const struct nm_sim_result *r)
{
    const struct nm_sim_jobs *j = &r->jobs[NM_OPPORTUNISTIC];

    return r->oracle_cpu_sec > 0 ? (j->work_done + j->work_open) / r->oracle_cpu_sec : 0;
}
