/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See generate.h. The numbers below weren't measured on a cluster. They are chosen so that decisions are needed
 * frequently. Requests are shares of the capacity, so that small and large nodes have equally many containers.
 */

#include "sim/generate.h"

#include <inttypes.h>

#include "util/parse.h"

#define SEC NM_USEC_PER_SEC
#define MIN (60 * NM_USEC_PER_SEC)
#define APPS 8
#define DEFAULT_SERVICES 24 /* number of services for which the sizes and rates below are chosen */
#define QUEUE_LENGTH 200    /* length of the queue at which jobs that come in groups can wait without being refused */

static const char *const kinds[NM_GENERATE_COUNT] = {
    [NM_GENERATE_STEADY] = "steady",
    [NM_GENERATE_DIURNAL] = "diurnal",
    [NM_GENERATE_BURSTY] = "bursty",
    [NM_GENERATE_ADVERSARIAL] = "adversarial",
};

const char *nm_generate_kind_name(enum nm_generate_kind k)
{
    return kinds[k];
}

int nm_generate_kind_from_string(const char *s, enum nm_generate_kind *ret)
{
    return NM_PARSE_NAME(kinds, s, ret);
}

/* ---- random numbers ------------------------------------------------------ */

struct chance {
    uint64_t state;
};

/* Returns a random number by splitmix64, which accepts any seed and provides independent streams. rand() isn't used,
 * because it differs between C libraries. */
static uint64_t draw(struct chance *c)
{
    uint64_t z = c->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Returns a number from 0 to below 1. Uses the upper 53 bits, which a double holds exactly, so the result isn't rounded
 * up to 1. */
static double unit(struct chance *c)
{
    return (double)(draw(c) >> 11) * 0x1p-53;
}

static double between(struct chance *c, double low, double high)
{
    return low + (high - low) * unit(c);
}

static uint64_t time_between(struct chance *c, uint64_t low, uint64_t high)
{
    return low + (uint64_t)(unit(c) * (double)(high - low));
}

/* Makes a random stream. Each part of a workload has its own stream, so that a change of one part doesn't change the
 * other parts. For example, --containers has the same visitors with few services and with many. The first draw becomes
 * the state of the stream, which separates the streams of neighbouring seeds. */
static struct chance stream(uint64_t seed, uint64_t which)
{
    struct chance c = {seed * UINT64_C(0xd1342543de82ef95) + which};

    c.state = draw(&c);
    return c;
}

/* ---- the node ------------------------------------------------------------ */

struct generator {
    const struct nm_generate_params *p;
    struct nm_workload *w;
    struct nm_resources capacity; /* capacity of the node, approximately as "auto" computes it */
    double scale; /* DEFAULT_SERVICES / services */
};

static void set_up(struct generator *g)
{
    struct nm_trace_header *h = &g->w->header;
    char duration[32];

    (void)snprintf(h->host, sizeof h->host, "%s-%" PRIu64, kinds[g->p->kind], g->p->seed);
    h->period_usec = g->w->config->period_usec;
    h->memory_bytes = g->p->memory_bytes;
    h->n_cpus = g->p->n_cpus;
    /* The features of a current kernel that the policy uses. Swap isn't one of them, so a frozen container keeps its
     * memory. */
    h->feature[NM_CGROUP_MEMORY_LIMITS] = h->feature[NM_CGROUP_CPU_WEIGHT] = true;
    h->feature[NM_CGROUP_CPU_IDLE] = h->feature[NM_CGROUP_FREEZE] = true;
    h->feature[NM_CGROUP_KILL] = h->feature[NM_CGROUP_PRESSURE] = true;
    g->w->config->queue_max_length = QUEUE_LENGTH;
    g->w->duration_usec = g->p->duration_usec;
    (void)snprintf(g->w->title, sizeof g->w->title, "%s, seed %" PRIu64 ", %s",
                   kinds[g->p->kind], g->p->seed,
                   nm_format_duration(g->p->duration_usec, duration, sizeof duration));
    g->capacity.memory_bytes = g->p->memory_bytes / 100 * 95;
    g->capacity.cpu_millicores = (uint64_t)g->p->n_cpus * 1000;
    g->scale = (double)DEFAULT_SERVICES / NM_MAX(g->p->services, 1u);
}

/* Makes the use of the kernel, sshd, journald and other system processes, with a little noise. The reserve is for this
 * use. */
static int make_system(struct generator *g)
{
    struct chance c = stream(g->p->seed, 1);
    double reserve = (double)g->p->memory_bytes / 20;
    int r = 0;

    reserve = NM_MIN(reserve, (double)(2048 * NM_MIB));
    for (uint64_t t = 0; r >= 0 && t < g->p->duration_usec; t += MIN)
        r = nm_curve_add(&g->w->system,
                         &(struct nm_use){t, (uint64_t)(reserve * between(&c, 0.6, 0.9)),
                                          (uint32_t)between(&c, 50, 150)});
    return r;
}

static uint64_t whole_mib(double bytes)
{
    return NM_MAX((uint64_t)(bytes / (double)NM_MIB), UINT64_C(1)) * NM_MIB;
}

static uint64_t whole_centicores(double millicores)
{
    return NM_MAX((uint64_t)(millicores / 10), UINT64_C(1)) * 10;
}

/* ---- a service's use of its request -------------------------------------- */

/* A sequence of bursts: quiet for a while, then high, then quiet again. */
struct bursts {
    struct chance chance;
    uint64_t pause_low, pause_high, length_low, length_high;
    uint64_t begin, end;
};

static bool bursting(struct bursts *b, uint64_t t)
{
    while (t >= b->end) {
        b->begin = b->end + time_between(&b->chance, b->pause_low, b->pause_high);
        b->end = b->begin + time_between(&b->chance, b->length_low, b->length_high);
    }
    return t >= b->begin;
}

struct service {
    struct chance chance;
    struct bursts own, common; /* own: bursts of this service alone; common: bursts of all services */
    uint64_t phase_usec;
};

/* Returns a value from 0 at night to 1 at noon: two parabolas that approximate a sine. */
static double sunlight(uint64_t t, uint64_t day)
{
    double x = (double)(t % day) / (double)day * 4; /* night until 1, noon at 2 */
    double y = x < 2 ? x : 4 - x;                   /* 0 .. 2 .. 0 */

    return y < 1 ? y * y / 2 : 1 - (2 - y) * (2 - y) / 2;
}

/* Returns shares of the request at time t. Memory is limited to the request. CPU may exceed the request, because a
 * guaranteed CPU request is a weight. */
static void levels(const struct generator *g, struct service *s, uint64_t t, double *ret_memory,
                   double *ret_cpu)
{
    double noise = between(&s->chance, -0.06, 0.06);
    double jitter = between(&s->chance, -0.1, 0.1);
    double level = 0.4;

    switch (g->p->kind) {
    case NM_GENERATE_DIURNAL:
        level = 0.25 +
                0.6 * sunlight(t + s->phase_usec, NM_MIN(g->p->duration_usec, 1440 * MIN));
        break;
    case NM_GENERATE_BURSTY: {
        bool own = bursting(&s->own, t), common = bursting(&s->common, t);

        level = common ? 0.95 : own ? 0.85 : 0.25;
        break;
    }
    case NM_GENERATE_ADVERSARIAL:
        level = bursting(&s->common, t) ? 1.0 : 0.15;
        break;
    default:
        break;
    }
    *ret_memory = NM_MIN(NM_MAX(level + noise / 2, 0.02), 1.0);
    *ret_cpu = NM_MAX(level + noise + jitter, 0.02);
    /* The CPU use exceeds the threshold for one sample fewer than the policy requires, then is below the threshold for
     * one sample. */
    if (g->p->kind == NM_GENERATE_ADVERSARIAL && t / (10 * MIN) % 2 == 1)
        *ret_cpu = t / (3 * SEC) % 4 == 3 ? 0.5 : 1.05;
}

/* Returns the time between two points that the kind needs. No burst may fall between two points, but the file should be
 * small. The adversarial kind assumes the default sampling period, 3 s. */
static uint64_t step_of(const struct generator *g)
{
    switch (g->p->kind) {
    case NM_GENERATE_ADVERSARIAL:
        return 3 * SEC;
    case NM_GENERATE_BURSTY:
        return 5 * SEC;
    default:
        return 15 * SEC;
    }
}

/* Makes a service's curve. With each step the memory changes by a part of the difference to the wanted level. */
static int make_service_curve(const struct generator *g, struct service *s, struct nm_sim_job *job)
{
    uint64_t step = step_of(g);
    double pace = g->p->kind == NM_GENERATE_ADVERSARIAL ? 0.9 : 0.4, held = 0.02;
    int r = 0;

    for (uint64_t t = 0; r >= 0 && t < job->run_usec && job->submit_usec + t < g->p->duration_usec;
         t += step) {
        double memory, cpu;

        levels(g, s, job->submit_usec + t, &memory, &cpu);
        held += (memory - held) * pace;
        r = nm_curve_add(&job->curve,
                         &(struct nm_use){
                             t, (uint64_t)(held * (double)job->request.memory_bytes),
                             (uint32_t)(cpu * (double)job->request.cpu_millicores)});
    }
    return r;
}

static int add(const struct generator *g, struct nm_sim_job *job)
{
    size_t i;
    int r = 1;

    job->started = true;
    job->end = NM_SIM_JOB_DONE;
    /* The job needs no completion, so nm_workload_finish() leaves it unchanged. load.c creates such jobs in the same
     * way. */
    if (job->submit_usec < g->p->duration_usec) /* the last jobs of a group may be submitted after the end */
        r = nm_workload_add_job(g->w, job, &i);
    if (r != 0)
        free(job->curve.points);
    return NM_MIN(r, 0);
}

static int add_service(const struct generator *g, struct nm_sim_job *job, struct chance *c)
{
    bool rough = g->p->kind == NM_GENERATE_ADVERSARIAL;
    struct service s = {
        .chance = {draw(c)},
        .own = {.chance = {draw(c)}, .pause_low = 5 * MIN, .pause_high = 40 * MIN,
                .length_low = 30 * SEC, .length_high = 4 * MIN},
        .common = {.chance = stream(g->p->seed, 2), .pause_low = rough ? 3 * MIN : 40 * MIN,
                   .pause_high = rough ? 8 * MIN : 120 * MIN, .length_low = MIN,
                   .length_high = 5 * MIN},
        .phase_usec = time_between(c, 0, 30 * MIN),
    };
    int r = make_service_curve(g, &s, job);

    if (r < 0) {
        free(job->curve.points);
        return r;
    }
    return add(g, job);
}

/* Makes the services, which share 85 % of the node unevenly. The remaining capacity is for the visitors: if services
 * requested the whole node, no visitor would be admitted. */
static int make_services(struct generator *g)
{
    struct chance c = stream(g->p->seed, 3), weights = stream(g->p->seed, 4);
    double memory = 0, cpu = 0;
    int r = 0;

    for (uint32_t i = 0; i < g->p->services; i++) {
        memory += between(&weights, 0.5, 1.5);
        cpu += between(&weights, 0.5, 1.5);
    }
    /* the draws must have the same order as in the first loop, memory before CPU, so that the shares add up */
    weights = stream(g->p->seed, 4); /* makes the same weights again */
    for (uint32_t i = 0; r >= 0 && i < g->p->services; i++) {
        struct nm_sim_job job = {.type = NM_GUARANTEED, .run_usec = NM_RUN_FOR_EVER};

        job.request.memory_bytes =
            whole_mib(0.85 * (double)g->capacity.memory_bytes * between(&weights, 0.5, 1.5) / memory);
        job.request.cpu_millicores = whole_centicores(
            0.85 * (double)g->capacity.cpu_millicores * between(&weights, 0.5, 1.5) / cpu);
        job.submit_usec = time_between(&c, 0, MIN);
        (void)snprintf(job.name, sizeof job.name, "service-%u", i + 1);
        r = add_service(g, &job, &c);
    }
    return r;
}

/* Makes guaranteed jobs that are submitted and end, one at a time on average. Because of them the policy takes
 * resources back, which it would not do for services alone. */
static int make_visitors(struct generator *g)
{
    struct chance c = stream(g->p->seed, 5);
    unsigned n = 0;
    int r = 0;

    for (uint64_t t = time_between(&c, MIN, 20 * MIN); r >= 0 && t < g->p->duration_usec;
         t += time_between(&c, 5 * MIN, 45 * MIN)) {
        struct nm_sim_job job = {.type = NM_GUARANTEED, .submit_usec = t};

        job.run_usec = time_between(&c, 5 * MIN, 40 * MIN);
        job.request.memory_bytes = whole_mib((double)g->capacity.memory_bytes * between(&c, 0.03, 0.1));
        job.request.cpu_millicores =
            whole_centicores((double)g->capacity.cpu_millicores * between(&c, 0.03, 0.1));
        (void)snprintf(job.name, sizeof job.name, "visitor-%u", ++n);
        r = add_service(g, &job, &c);
    }
    return r;
}

/* ---- opportunistic jobs -------------------------------------------------- */

enum manner { HONEST, LIAR, SLEEPER };

/* Makes a job's curve. A job of kind LIAR uses more than it requested, until the simulated kernel kills it at its
 * memory limit. A job of kind SLEEPER uses little until its warm-up is over, and then its full use. The policy
 * therefore underestimates a SLEEPER when it admits the next jobs. */
static int make_job_curve(struct nm_sim_job *job, struct chance *c, enum manner manner)
{
    double memory = between(c, 0.4, 0.95), cpu = between(c, 0.6, 1.0), held = 0.05;
    uint64_t quiet = manner == SLEEPER ? 20 * SEC : 0;
    int r = 0;

    if (manner == LIAR) {
        memory = between(c, 1.2, 1.6);
        cpu = between(c, 1.5, 3.0);
    }
    for (uint64_t t = 0; r >= 0 && t < job->run_usec; t += 10 * SEC) {
        double now = t < quiet ? 0.05 : memory, busy = t < quiet ? 0.05 : cpu;

        held += (now - held) * (manner == HONEST ? 0.5 : 1.0);
        busy *= between(c, 0.9, 1.05);
        r = nm_curve_add(&job->curve,
                         &(struct nm_use){
                             t, (uint64_t)(held * (double)job->request.memory_bytes),
                             (uint32_t)(busy * (double)job->request.cpu_millicores)});
    }
    return r;
}

static int add_opportunistic(struct generator *g, struct chance *c, uint64_t t, unsigned number)
{
    struct nm_sim_job job = {.type = NM_OPPORTUNISTIC, .submit_usec = t};
    bool rough = g->p->kind == NM_GENERATE_ADVERSARIAL;
    double u = unit(c), trait = unit(c);
    char app[NM_NAME_SIZE];
    int r;

    /* 1 to 15 minutes, with more short jobs than long jobs */
    job.run_usec = MIN + (uint64_t)(u * u * (double)(14 * MIN));
    job.request.memory_bytes =
        whole_mib((double)g->capacity.memory_bytes * between(c, 0.015, 0.06) * g->scale);
    job.request.cpu_millicores = whole_centicores((double)g->capacity.cpu_millicores *
                                                  between(c, 0.03, 0.12) * g->scale);
    /* Half of the jobs declare their run time, correct to a quarter, as people estimate it. A tenth have a minimum run
     * time, and a few are exempt from preemption. */
    if (trait < 0.5)
        job.expected_usec = job.run_usec / 4 * (3 + draw(c) % 3);
    else if (trait < 0.6)
        job.min_runtime_usec = 2 * MIN;
    else if (trait < 0.62)
        job.exempt = true;
    (void)snprintf(job.name, sizeof job.name, "job-%u", number);
    (void)snprintf(app, sizeof app, "app-%u", (unsigned)(draw(c) % APPS) + 1);
    r = nm_workload_app(g->w, app, &job.app);
    if (r >= 0)
        /* uses the same random number, so that LIAR and SLEEPER jobs declare no run time */
        r = make_job_curve(&job, c, !rough || trait < 0.7 ? HONEST : trait < 0.85 ? LIAR : SLEEPER);
    if (r < 0) {
        free(job.curve.points);
        return r;
    }
    return add(g, &job);
}

static unsigned group_size(const struct generator *g, struct chance *c)
{
    switch (g->p->kind) {
    case NM_GENERATE_BURSTY:
        return 1 + (unsigned)(draw(c) % 30);
    case NM_GENERATE_ADVERSARIAL: /* sometimes more jobs than the queue holds */
        return draw(c) % 25 == 0 ? 2 * QUEUE_LENGTH : 1 + (unsigned)(draw(c) % 30);
    default:
        return 1;
    }
}

static int make_jobs(struct generator *g)
{
    struct chance c = stream(g->p->seed, 6);
    unsigned n = 0;
    int r = 0;

    for (uint64_t t = 2 * MIN; r >= 0 && t < g->p->duration_usec;) {
        unsigned group = group_size(g, &c);

        for (unsigned i = 0; r >= 0 && i < group; i++)
            r = add_opportunistic(g, &c, t + i * 50 * NM_USEC_PER_MSEC, ++n);
        /* The pause after a group of jobs is as long as its jobs would have taken one by one, so that all kinds request
         * about the same amount. The pause is limited, so that a large group isn't followed by hours without jobs. */
        for (unsigned i = 0; i < NM_MIN(group, 40u); i++)
            t += NM_MAX((uint64_t)(between(&c, 0, 50 * g->scale) * (double)SEC), UINT64_C(1));
    }
    return r;
}

/* Compares by time, then by name, because qsort() may order equal elements differently in different libraries. */
static int by_submission(const void *a, const void *b)
{
    const struct nm_sim_job *x = a, *y = b;

    if (x->submit_usec != y->submit_usec)
        return x->submit_usec < y->submit_usec ? -1 : 1;
    return strcmp(x->name, y->name);
}

int nm_generate(const struct nm_generate_params *p, struct nm_workload **ret)
{
    _cleanup_(nm_workload_freep) struct nm_workload *w = NULL;
    struct generator g = {.p = p};
    int r = nm_workload_new(&w);

    if (r < 0)
        return r;
    g.w = w;
    set_up(&g);
    r = make_system(&g);
    if (r >= 0)
        r = make_services(&g);
    if (r >= 0)
        r = make_visitors(&g);
    if (r >= 0)
        r = make_jobs(&g);
    if (r < 0)
        return r;
    qsort(w->jobs, w->n_jobs, sizeof *w->jobs, by_submission);
    for (size_t i = 0; i < w->n_jobs; i++)
        w->jobs[i].number = i + 1;
    r = nm_workload_finish(w);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(w);
    return 0;
}
