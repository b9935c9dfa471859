/* SPDX-License-Identifier: Apache-2.0 */

/* See job.h. */

#include "localize/job.h"

#include <assert.h>
#include <stdlib.h>

#include "localize/worker-process.h"
#include "util/error.h"

#define LINES_OF_EACH 4U /* number of lines that nm-localizer may write at once for each resource */

struct nm_localizer_job {
    struct nm_localizer_job_params params;
    struct nm_worker_process *process;
};

struct nm_localizer_job *nm_localizer_job_free(struct nm_localizer_job *job)
{
    if (!job)
        return NULL;
    nm_worker_process_free(job->process);
    free(job);
    return NULL;
}

void nm_localizer_job_kill(struct nm_localizer_job *job)
{
    nm_worker_process_kill(job->process);
}

/* Handles a line. Ignores invalid lines: a user who forges lines only harms the user's own fetches. Also ignores
 * progress that is read after the worker's end, because it is outdated and may fill the whole pipe. */
static void take_report_line(const char *line, size_t size, bool has_ended, void *userdata)
{
    _cleanup_(nm_worker_reply_done) struct nm_worker_reply reply = {0};
    struct nm_localizer_job *job = userdata;

    if (nm_worker_reply_parse(line, size, &reply) >= 0 &&
        (!has_ended || reply.state == NM_REPLY_DONE || reply.state == NM_REPLY_FAILED))
        job->params.replied(job, &reply, job->params.userdata);
}

static void on_end(const char *reason, void *userdata)
{
    struct nm_localizer_job *job = userdata;

    job->params.ended(job, reason, job->params.userdata);
}

static void on_overrun(void *userdata)
{
    struct nm_localizer_job *job = userdata;

    job->params.overran(job, job->params.userdata);
}

int nm_localizer_job_new(const struct nm_localizer_job_params *p, struct nm_localizer_job **ret)
{
    _cleanup_(nm_localizer_job_freep) struct nm_localizer_job *job = calloc(1, sizeof *job);
    struct nm_worker_process_params process = {
        .event = p->event, .program_fd = p->program_fd, .name = "nm-localizer", .uid = p->uid, .gid = p->gid,
        .account = p->account, .work = p->work, .extra_lines = LINES_OF_EACH * p->n,
        .most_memory_bytes = p->most_memory_bytes, .line = take_report_line, .ended = on_end, .overran = on_overrun,
        .userdata = job};
    int r;

    assert(p->replied && p->ended && p->overran);
    if (!job)
        return -ENOMEM;
    job->params = *p;
    job->params.work = NULL; /* the worker has a copy of the work */
    r = nm_worker_process_new(&process, &job->process);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(job);
    return 0;
}
