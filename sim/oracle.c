/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See replay.h. Time advances in steps of a sampling period. The capacity that remains beside guaranteed containers and
 * the system is divided among the submitted opportunistic jobs. Jobs with the most CPU per memory come first. If a job
 * doesn't fit completely, a part of it may run. A job that doesn't run uses no CPU and no memory. No real node can
 * therefore do as much work.
 */

#include "sim/replay.h"

#include <assert.h>

struct pending {
    const struct nm_sim_job *job;
    double density; /* millicores per byte, as requested */
    double progress_usec;
    size_t cursor;
};

struct oracle {
    const struct nm_workload *load;
    const struct nm_policy_settings *s;
    const bool *refused; /* for each job: whether the replay refused it */
    struct pending *guaranteed, *jobs; /* jobs that are submitted and not done; `jobs` is sorted by density */
    size_t n_guaranteed, n_jobs, next_job, next_system;
    struct nm_use system;
};

static const struct nm_use *use_at(struct pending *p)
{
    const struct nm_curve *c = &p->job->curve;

    while (p->cursor + 1 < c->n && (double)c->points[p->cursor + 1].at_usec <= p->progress_usec)
        p->cursor++;
    return &c->points[p->cursor];
}

/* Returns whether the job would be killed at its own memory limit under any policy. */
static bool is_hopeless(const struct oracle *o, const struct nm_sim_job *job)
{
    for (size_t i = 0; o->s->memory_limits && i < job->curve.n; i++)
        if (job->curve.points[i].memory_bytes > job->request.memory_bytes)
            return true;
    return job->curve.n == 0;
}

static void take_job(struct oracle *o, const struct nm_sim_job *job, bool refused)
{
    struct pending p = {.job = job};
    size_t at = o->n_jobs;

    if (is_hopeless(o, job) || (job->type == NM_GUARANTEED && refused))
        return;
    if (job->type == NM_GUARANTEED) {
        o->guaranteed[o->n_guaranteed++] = p;
        return;
    }
    p.density = (double)job->request.cpu_millicores / (double)NM_MAX(job->request.memory_bytes, UINT64_C(1));
    while (at > 0 && o->jobs[at - 1].density < p.density)
        at--;
    memmove(&o->jobs[at + 1], &o->jobs[at], (o->n_jobs - at) * sizeof p);
    o->jobs[at] = p;
    o->n_jobs++;
}

/* Gives guaranteed containers all that they want. */
static void run_guaranteed(struct oracle *o, uint64_t step_usec, double left[2])
{
    for (size_t i = 0; i < o->n_guaranteed;) {
        struct pending *p = &o->guaranteed[i];
        const struct nm_use *u = use_at(p);

        left[NM_MEMORY] -= (double)u->memory_bytes;
        left[NM_CPU] -= u->cpu_millicores;
        p->progress_usec += (double)step_usec;
        if (p->progress_usec >= (double)p->job->run_usec)
            *p = o->guaranteed[--o->n_guaranteed];
        else
            i++;
    }
}

static double part_that_fits(const struct nm_use *u, const double left[2])
{
    double part = 1;

    assert(left[NM_CPU] > 0 && left[NM_MEMORY] > 0);
    if (u->cpu_millicores > left[NM_CPU])
        part = left[NM_CPU] / u->cpu_millicores;
    if ((double)u->memory_bytes * part > left[NM_MEMORY])
        part = left[NM_MEMORY] / (double)u->memory_bytes;
    return part;
}

/* Gives the remaining capacity to jobs. Returns the millicores that the jobs get. */
static double run_jobs(struct oracle *o, uint64_t step_usec, double left[2])
{
    double given = 0;
    size_t kept = 0, i = 0;

    for (; i < o->n_jobs && left[NM_CPU] >= 1 && left[NM_MEMORY] >= 1; i++) {
        struct pending *p = &o->jobs[i];
        const struct nm_use *u = use_at(p);
        double part = part_that_fits(u, left);

        left[NM_CPU] -= part * u->cpu_millicores;
        left[NM_MEMORY] -= part * (double)u->memory_bytes;
        given += part * u->cpu_millicores;
        p->progress_usec += part * (double)step_usec;
        if (p->progress_usec < (double)p->job->run_usec)
            o->jobs[kept++] = *p;
    }
    memmove(&o->jobs[kept], &o->jobs[i], (o->n_jobs - i) * sizeof *o->jobs);
    o->n_jobs -= i - kept;
    return given;
}

static void take_events(struct oracle *o, uint64_t t_usec)
{
    const struct nm_workload *w = o->load;

    for (; o->next_job < w->n_jobs && w->jobs[o->next_job].submit_usec <= t_usec; o->next_job++)
        take_job(o, &w->jobs[o->next_job], o->refused[o->next_job]);
    while (o->next_system < w->system.n && w->system.points[o->next_system].at_usec <= t_usec)
        o->system = w->system.points[o->next_system++];
}

static double excess(uint64_t use, uint64_t reserve)
{
    return use > reserve ? (double)(use - reserve) : 0;
}

int nm_oracle_cpu_sec(const struct nm_workload *load, const struct nm_policy_settings *s,
                      const bool *refused, uint64_t step_usec, double *ret)
{
    _cleanup_free_ struct pending *guaranteed = calloc(load->n_jobs + 1, sizeof *guaranteed);
    _cleanup_free_ struct pending *jobs = calloc(load->n_jobs + 1, sizeof *jobs);
    struct oracle o = {load, s, refused, guaranteed, jobs, 0, 0, 0, 0, load->system.points[0]};
    double sum = 0;

    assert(step_usec > 0 && load->system.n > 0);
    if (!guaranteed || !jobs)
        return -ENOMEM;
    for (uint64_t t = 0; t < load->duration_usec; t += step_usec) {
        uint64_t step = NM_MIN(step_usec, load->duration_usec - t);
        double left[2];

        take_events(&o, t);
        left[NM_MEMORY] = (double)s->capacity.memory_bytes -
                          excess(o.system.memory_bytes, s->reserve.memory_bytes);
        left[NM_CPU] = (double)s->capacity.cpu_millicores -
                       excess(o.system.cpu_millicores, s->reserve.cpu_millicores);
        run_guaranteed(&o, step, left);
        sum += run_jobs(&o, step, left) / 1000 * (double)step / 1e6;
    }
    *ret = sum;
    return 0;
}
