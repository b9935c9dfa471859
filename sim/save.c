/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Writes a workload as a made-up trace. Jobs contain their curves, so the trace is small, and reading it gives exactly
 * the same workload.
 *
 * Only the members of made-up workloads are written. A recording would lose its changes, its refusals, and the
 * information how its jobs ended.
 */

#include "sim/workload.h"

static void put_job(struct nm_trace_buffer *b, const struct nm_workload *w,
                    const struct nm_sim_job *job)
{
    const struct nm_policy_container v = {
        .seq = job->number,
        .type = job->type,
        .request = job->request,
        .min_runtime_usec = job->min_runtime_usec,
        .expected_usec = job->expected_usec,
        .exempt = job->exempt,
        .cpu_is_share = job->cpu_is_share,
    };

    nm_trace_begin_submit(b, job->submit_usec, &v, job->name, w->apps[job->app],
                          job->present ? job->ran_usec : UINT64_MAX);
    if (job->run_usec != NM_RUN_FOR_EVER)
        nm_trace_put(b, "run", job->run_usec);
    nm_trace_begin_rows(b, "curve");
    for (size_t i = 0; i < job->curve.n; i++) {
        const struct nm_use *u = &job->curve.points[i];

        nm_trace_put_row(b, (const uint64_t[]){u->at_usec, u->memory_bytes, u->cpu_millicores}, 3);
    }
    nm_trace_end_rows(b);
    nm_trace_end(b);
}

/* Writes a sample without rows, so that the node's use is that of the system. */
static void put_system(struct nm_trace_buffer *b, const struct nm_use *u)
{
    nm_trace_begin(b, u->at_usec, "sample");
    nm_trace_put(b, "memory", u->memory_bytes);
    nm_trace_put(b, "cpu", u->cpu_millicores);
    nm_trace_end(b);
}

static int put_out(struct nm_trace_buffer *b, FILE *f)
{
    bool fine = fwrite(b->text, 1, b->len, f) == b->len;

    b->len = 0;
    return fine ? 0 : -errno;
}

/* Writes events in order of time, as in a recording, because a reader refuses a line with an earlier time than the line
 * before. */
static int put_events(struct nm_trace_buffer *b, const struct nm_workload *w, FILE *f)
{
    size_t job = 0, system = 0;
    int r = 0;

    while (r >= 0 && (job < w->n_jobs || system < w->system.n)) {
        bool next_is_job = job < w->n_jobs &&
                           (system == w->system.n ||
                            w->jobs[job].submit_usec < w->system.points[system].at_usec);

        r = nm_trace_reserve(b, 0, next_is_job ? w->jobs[job].curve.n : 0);
        if (r < 0)
            break;
        if (next_is_job)
            put_job(b, w, &w->jobs[job++]);
        else
            put_system(b, &w->system.points[system++]);
        r = put_out(b, f);
    }
    return r;
}

int nm_workload_save(const struct nm_workload *w, FILE *f)
{
    _cleanup_(nm_trace_buffer_done) struct nm_trace_buffer b = {0};
    _cleanup_free_ char *header = NULL;
    int r = nm_trace_header_text(&w->header, w->config, &header);

    if (r < 0)
        return r;
    if (fputs(header, f) < 0)
        return -errno;
    r = put_events(&b, w, f);
    if (r < 0)
        return r;
    /* only this line contains the time of the trace's end, because the last event may be much earlier */
    nm_trace_begin(&b, w->duration_usec, "stop");
    nm_trace_end(&b);
    r = put_out(&b, f);
    return r < 0 ? r : fflush(f) == EOF ? -errno : 0;
}
