/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See workload.h. This file builds workloads, and completes recordings.
 *
 * The completion is deliberately simple: medians, means, repetitions. The result of a more complex estimate would be
 * mistaken for the history of the node, and users would choose settings by it. The completion is done once, before any
 * replay, and is the same for all replays, because configurations must be compared on the same workload.
 */

#include "sim/workload.h"

#include "util/array.h"

#define STRETCH_USEC (60 * NM_USEC_PER_SEC) /* part of an incomplete curve that is repeated */
#define UNKNOWN_RUN_USEC (60 * NM_USEC_PER_SEC) /* run time if no job has ended and the job declares no run time */
#define POINTS_MAX (1 << 17) /* limit for one curve, against short traces that expand greatly */
#define OWN_LIMIT 0.95 /* share of a job's request: a job with a higher peak was killed at its own limit */

/* Makes a workload. Application 0 is "", for jobs without an application. Each job therefore has an application, and
 * the policy's array of applications needs no exception. */
int nm_workload_new(struct nm_workload **ret)
{
    _cleanup_(nm_workload_freep) struct nm_workload *w = calloc(1, sizeof *w);
    uint32_t none;
    int r;

    if (!w)
        return -ENOMEM;
    w->interference = NM_SIM_INTERFERENCE;
    r = nm_config_new_defaults(&w->config);
    if (r >= 0)
        r = nm_workload_app(w, "", &none);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(w);
    return 0;
}

struct nm_workload *nm_workload_free(struct nm_workload *w)
{
    if (!w)
        return NULL;
    for (size_t i = 0; i < w->n_jobs; i++)
        free(w->jobs[i].curve.points);
    free(w->jobs);
    free(w->changes);
    free(w->apps);
    free(w->system.points);
    if (w->config)
        nm_config_free(w->config);
    free(w);
    return NULL;
}

int nm_workload_app(struct nm_workload *w, const char *name, uint32_t *ret)
{
    int r;

    /* newest first, because jobs of one application are often submitted together */
    for (size_t i = w->n_apps; i-- > 0;)
        if (nm_streq(w->apps[i], name)) {
            *ret = (uint32_t)i;
            return 0;
        }
    r = NM_ARRAY_ROOM(w->apps, w->n_apps, w->apps_size);
    if (r < 0)
        return r;
    (void)snprintf(w->apps[w->n_apps], NM_NAME_SIZE, "%s", name);
    *ret = (uint32_t)w->n_apps++;
    return 0;
}

int nm_workload_add_job(struct nm_workload *w, const struct nm_sim_job *job, size_t *ret)
{
    int r = NM_ARRAY_ROOM(w->jobs, w->n_jobs, w->jobs_size);

    if (r < 0)
        return r;
    w->jobs[w->n_jobs] = *job;
    *ret = w->n_jobs++;
    return 0;
}

int nm_workload_add_change(struct nm_workload *w, const struct nm_sim_job_change *change)
{
    int r = NM_ARRAY_ROOM(w->changes, w->n_changes, w->changes_size);

    if (r < 0)
        return r;
    w->changes[w->n_changes++] = *change;
    return 0;
}

int nm_curve_add(struct nm_curve *c, const struct nm_use *use)
{
    const struct nm_use *last = c->n > 0 ? &c->points[c->n - 1] : NULL;

    if (last && last->memory_bytes == use->memory_bytes &&
        last->cpu_millicores == use->cpu_millicores)
        return 0;
    return nm_curve_put(c, use);
}

int nm_curve_put(struct nm_curve *c, const struct nm_use *use)
{
    struct nm_use *last = c->n > 0 ? &c->points[c->n - 1] : NULL;
    int r;

    /* A later point replaces an earlier one: load.c adds an interval's use when the interval is over. */
    if (last && use->at_usec <= last->at_usec) {
        last->memory_bytes = use->memory_bytes;
        last->cpu_millicores = use->cpu_millicores;
        return 0;
    }
    r = NM_ARRAY_ROOM(c->points, c->n, c->size);
    if (r < 0)
        return r;
    c->points[c->n++] = *use;
    return 0;
}

/* ---- experience from other jobs ------------------------------------------ */

struct run {
    enum nm_execution_type type;
    uint32_t app;
    uint64_t usec;
};

/* Run times of jobs that ended by themselves, and mean use. The runs are one sorted array. The runs of a type, or of an
 * application of that type, are contiguous. */
struct run_times {
    struct run *runs; /* all runs, sorted by type, application, length */
    size_t n_runs;
    uint64_t median[2], median_of_all;            /* 0: no job has ended */
    double memory_share[2], cpu_share[2]; /* use as a share of the request, by type */
};

static int by_app(const void *a, const void *b)
{
    const struct run *x = a, *y = b;

    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    if (x->app != y->app)
        return x->app < y->app ? -1 : 1;
    return (x->usec > y->usec) - (x->usec < y->usec);
}

static int by_length(const void *a, const void *b)
{
    const struct run *x = a, *y = b;

    return (x->usec > y->usec) - (x->usec < y->usec);
}

static uint64_t middle(struct run *runs, size_t n)
{
    qsort(runs, n, sizeof *runs, by_length);
    return n > 0 ? runs[n / 2].usec : 0;
}

/* Computes the medians. middle() sorts its input by length, so that part of the array is sorted again afterwards. */
static void estimate_medians(struct run_times *e)
{
    size_t n_guaranteed = 0;

    e->median_of_all = middle(e->runs, e->n_runs);
    qsort(e->runs, e->n_runs, sizeof *e->runs, by_app);
    while (n_guaranteed < e->n_runs && e->runs[n_guaranteed].type == NM_GUARANTEED)
        n_guaranteed++;
    e->median[NM_GUARANTEED] = middle(e->runs, n_guaranteed);
    e->median[NM_OPPORTUNISTIC] = middle(e->runs + n_guaranteed, e->n_runs - n_guaranteed);
    qsort(e->runs, e->n_runs, sizeof *e->runs, by_app);
}

/* Returns the first run that isn't before the key in the order. */
static size_t lower_bound(const struct run_times *e, const struct run *key)
{
    size_t low = 0, high = e->n_runs;

    while (low < high) {
        size_t at = low + (high - low) / 2;

        if (by_app(&e->runs[at], key) < 0)
            low = at + 1;
        else
            high = at;
    }
    return low;
}

static uint64_t median_run(const struct run_times *e, const struct nm_sim_job *job)
{
    struct run key = {.type = job->type, .app = job->app};
    size_t from = lower_bound(e, &key), to;

    key.usec = UINT64_MAX;
    to = lower_bound(e, &key);
    /* jobs without an application aren't related */
    if (job->app > 0 && from < to)
        return e->runs[from + (to - from) / 2].usec;
    return e->median[job->type] > 0 ? e->median[job->type] : e->median_of_all;
}

/* Computes means over time. A mean over points would be wrong, because points are more frequent where the use changes
 * much. */
static void mean_use(const struct nm_sim_job *job, double *ret_memory, double *ret_cpu)
{
    const struct nm_curve *c = &job->curve;
    double memory = 0, cpu = 0, whole = (double)NM_MAX(job->run_usec, UINT64_C(1));

    for (size_t i = 0; i < c->n; i++) {
        uint64_t end = i + 1 < c->n ? c->points[i + 1].at_usec : job->run_usec;
        double part = (double)nm_sub_u64(end, c->points[i].at_usec) / whole;

        memory += part * (double)c->points[i].memory_bytes;
        cpu += part * (double)c->points[i].cpu_millicores;
    }
    *ret_memory = memory;
    *ret_cpu = cpu;
}

/* Computes the shares of a type from sums, so that large jobs have more weight, as on the node. */
static void estimate_shares(const struct nm_workload *w, struct run_times *e)
{
    double used[2][2] = {0}, asked[2][2] = {0};

    for (size_t i = 0; i < w->n_jobs; i++) {
        const struct nm_sim_job *job = &w->jobs[i];
        double memory, cpu;

        if (!job->started || job->curve.n == 0)
            continue;
        mean_use(job, &memory, &cpu);
        used[job->type][NM_MEMORY] += memory;
        used[job->type][NM_CPU] += cpu;
        asked[job->type][NM_MEMORY] += (double)job->request.memory_bytes;
        asked[job->type][NM_CPU] += (double)job->request.cpu_millicores;
    }
    for (int t = 0; t < 2; t++) {
        e->memory_share[t] = asked[t][NM_MEMORY] > 0 ? used[t][NM_MEMORY] / asked[t][NM_MEMORY] : 1;
        e->cpu_share[t] = asked[t][NM_CPU] > 0 ? used[t][NM_CPU] / asked[t][NM_CPU] : 1;
    }
}

static int collect_runs(const struct nm_workload *w, struct run_times *e)
{
    e->runs = calloc(w->n_jobs + 1, sizeof *e->runs);
    if (!e->runs)
        return -ENOMEM;
    for (size_t i = 0; i < w->n_jobs; i++) {
        const struct nm_sim_job *job = &w->jobs[i];

        if (job->started && job->end == NM_SIM_JOB_DONE && job->run_usec != NM_RUN_FOR_EVER)
            e->runs[e->n_runs++] = (struct run){job->type, job->app, job->ran_usec + job->run_usec};
    }
    estimate_medians(e);
    estimate_shares(w, e);
    return 0;
}

/* ---- completion ---------------------------------------------------------- */

/* The part of a curve that is repeated: the intervals between its points first to last - 1, from `from` to `to`. */
struct stretch {
    size_t first, last;
    uint64_t from_usec, to_usec;
};

/* Adds the use of one interval in a repetition that begins at `begin`. A curve has growing memory from the end of the
 * interval in which it grew. So an interval that is repeated backwards has the memory of its end. */
static int repeat_interval(struct nm_curve *c, const struct stretch *s, size_t i, uint64_t begin, bool backwards)
{
    uint64_t start = NM_MAX(c->points[i].at_usec, s->from_usec);
    uint64_t end = i + 1 < s->last ? NM_MIN(c->points[i + 1].at_usec, s->to_usec) : s->to_usec;
    struct nm_use use = c->points[i];

    if (end <= start)
        return 0;
    if (backwards && i + 1 < s->last)
        use.memory_bytes = c->points[i + 1].memory_bytes;
    use.at_usec = begin + (backwards ? s->to_usec - end : start - s->from_usec);
    return nm_curve_add(c, &use);
}

static int repeat(struct nm_curve *c, const struct stretch *s, uint64_t begin, bool backwards)
{
    int r = 0;

    for (size_t n = 0; r >= 0 && n < s->last - s->first; n++)
        r = repeat_interval(c, s, backwards ? s->last - 1 - n : s->first + n, begin, backwards);
    return r;
}

/* Repeats the last part of the recorded curve, up to `until`: first backwards, then forwards, and so on. So the use
 * does not jump where the recording ends. A replay reaches this place some milliseconds before or after the kill of the
 * recording, when the memory must be that of the recording. The curve isn't extrapolated, because the recording doesn't
 * show whether memory that grew would have grown forever. */
static int extend(struct nm_sim_job *job, uint64_t seen, uint64_t until)
{
    struct nm_curve *c = &job->curve;
    uint64_t length = NM_MIN(seen, STRETCH_USEC);
    struct stretch s = {.last = c->n, .from_usec = seen - length, .to_usec = seen};
    bool backwards = true;
    int r = 0;

    while (s.first + 1 < c->n && c->points[s.first + 1].at_usec <= s.from_usec)
        s.first++;
    if (length == 0 || s.last - s.first < 2) /* the last values stay valid until `until` */
        return 0;
    for (uint64_t begin = seen; r >= 0 && begin < until && c->n < POINTS_MAX; begin += length) {
        r = repeat(c, &s, begin, backwards);
        backwards = !backwards;
    }
    while (c->n > s.last && c->points[c->n - 1].at_usec >= until)
        c->n--;
    return r;
}

static int make_up_use(struct nm_sim_job *job, const struct run_times *e)
{
    double memory = (double)job->request.memory_bytes * e->memory_share[job->type];
    double cpu = (double)job->request.cpu_millicores * e->cpu_share[job->type];
    struct nm_use use = {.memory_bytes = (uint64_t)NM_MIN(memory, 0x1p50),
                         .cpu_millicores = (uint32_t)NM_MIN(cpu, 1e8)};

    return nm_curve_add(&job->curve, &use);
}

/* Makes the curve of a job that was shorter than a sampling period from the job's end event. Uses the peak for the
 * job's whole time, which overestimates its use. */
static int use_from_end(struct nm_sim_job *job)
{
    uint64_t run = NM_MAX(job->run_usec, UINT64_C(1));
    struct nm_use use = {
        .memory_bytes = job->peak_bytes,
        .cpu_millicores = (uint32_t)NM_MIN((double)job->cpu_usec * 1000 / (double)run, 1e8),
    };

    return nm_curve_add(&job->curve, &use);
}

/* Returns whether the job exceeded its own limit. In this case the kernel would kill the job under any configuration.
 * Otherwise the slice or the node was out of memory, and other containers were the cause. */
static bool exceeded_own_limit(const struct nm_sim_job *job)
{
    return job->end_reason == NM_EXIT_OOM &&
           (double)job->peak_bytes >= OWN_LIMIT * (double)job->request.memory_bytes;
}

static int complete(const struct nm_workload *w, struct nm_sim_job *job, const struct run_times *e)
{
    uint64_t seen = job->run_usec, likely = job->expected_usec;
    int r;

    /* A failed launch will fail again, immediately. A job that was cancelled in the queue could have run. */
    if (!job->started && job->end == NM_SIM_JOB_DONE && job->end_reason != NM_EXIT_KILLED)
        return nm_curve_add(&job->curve, &(struct nm_use){0});
    /* a curve needs at least one point, because a replay reads the first point unconditionally */
    if (job->started && job->curve.n == 0) {
        r = use_from_end(job);
        if (r < 0)
            return r;
    }
    if (job->started && job->end == NM_SIM_JOB_DONE)
        return 0;
    if (likely == 0)
        likely = median_run(e, job);
    likely = nm_sub_u64(likely, job->ran_usec); /* progress begins at the start of the trace */
    if (!job->started) {
        job->run_usec = likely > 0 ? likely : UNKNOWN_RUN_USEC;
        return make_up_use(job, e);
    }
    job->run_usec = NM_MAX(likely, seen);
    /* the end of a service isn't known; the replay ends before */
    if (job->end == NM_SIM_JOB_ALIVE && likely <= seen)
        job->run_usec = NM_RUN_FOR_EVER;
    /* no job can run longer than the trace */
    return extend(job, seen, NM_MIN(job->run_usec, w->duration_usec));
}

/* ---- growth -------------------------------------------------------------- */

#define RAMP_STEP_USEC (100 * NM_USEC_PER_MSEC)
#define RAMP_SHARE 256 /* the node's memory divided by this number is the smallest growth that is smoothed */

/* Returns the number of steps from one point to the next, at most the steps of one sampling period. If rows were
 * omitted for minutes, the memory didn't grow during these minutes. */
static uint64_t ramp_steps(const struct nm_workload *w, const struct nm_use *from,
                           const struct nm_use *to)
{
    uint64_t within = to->at_usec - from->at_usec;

    if (nm_sub_u64(to->memory_bytes, from->memory_bytes) <= w->header.memory_bytes / RAMP_SHARE)
        return 1;
    within = NM_MIN(within, w->header.period_usec);
    return NM_MAX(within / RAMP_STEP_USEC, UINT64_C(1));
}

/* Smooths large growth. Samples are seconds apart, but memory doesn't grow by gigabytes in an instant. Growth since the
 * previous sample is therefore spread evenly, so that the simulated nmd can detect it. Without this, a replay would
 * have kernel kills that the growth probe prevents on the node. Decreases may be instantaneous, because they do no
 * harm. */
static int smooth(const struct nm_workload *w, struct nm_curve *c)
{
    struct nm_curve ramped = {0};
    int r = 0;

    for (size_t i = 0; r >= 0 && i < c->n; i++) {
        const struct nm_use *to = &c->points[i], *from = i > 0 ? to - 1 : to;
        uint64_t n = i > 0 ? ramp_steps(w, from, to) : 1;
        uint64_t rise = nm_sub_u64(to->memory_bytes, from->memory_bytes);

        for (uint64_t k = 1; r >= 0 && k < n; k++) {
            struct nm_use use = {
                .at_usec = to->at_usec - (n - k) * RAMP_STEP_USEC,
                .memory_bytes = from->memory_bytes + rise / n * k,
                .cpu_millicores = from->cpu_millicores,
            };

            r = nm_curve_add(&ramped, &use);
        }
        r = r < 0 ? r : nm_curve_add(&ramped, to);
    }
    if (r < 0) {
        free(ramped.points);
        return r;
    }
    free(c->points);
    *c = ramped;
    return 0;
}

int nm_workload_finish(struct nm_workload *w)
{
    struct run_times e = {0};
    int r;

    /* Finished jobs come first, because the other jobs are completed with data from them. The smoothing comes last,
     * because repeated points must be smoothed too. */
    for (size_t i = 0; i < w->n_jobs; i++)
        if (exceeded_own_limit(&w->jobs[i]))
            w->jobs[i].end = NM_SIM_JOB_DONE;
    r = collect_runs(w, &e);
    for (size_t i = 0; r >= 0 && i < w->n_jobs; i++)
        r = complete(w, &w->jobs[i], &e);
    for (size_t i = 0; r >= 0 && i < w->n_jobs; i++)
        r = smooth(w, &w->jobs[i].curve);
    /* the system has no point in a trace without samples, but a simulated node needs the first point */
    if (r >= 0 && w->system.n == 0)
        r = nm_curve_add(&w->system, &(struct nm_use){0});
    free(e.runs);
    return r;
}
