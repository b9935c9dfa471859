/* SPDX-License-Identifier: Apache-2.0 */

/* See log-job.h. */

#include "yarn/logs/log-job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "aggregate/upload-protocol.h"
#include "localize/worker-process.h"
#include "util/clock.h"
#include "util/error.h"
#include "yarn/conf/conf.h"

#define TEXT_SIZE 600 /* for a text of a report */

struct nm_yarn_log_job {
    struct nm_yarn_log_job_params params;
    struct nm_worker_process *process;
    sd_event_source *timer;
    uint64_t started_usec, heard_usec; /* heard_usec: time of the last report */
    uint64_t bytes, total_bytes;
    unsigned n_notes;
    struct nm_upload_reply last; /* the newest "done" or "failed" */
    bool has_last;
    char killed_why[100]; /* "": nmd hasn't killed the run */
};

struct nm_yarn_log_job *nm_yarn_log_job_free(struct nm_yarn_log_job *job)
{
    if (!job)
        return NULL;
    nm_worker_process_free(job->process);
    (void)sd_event_source_disable_unref(job->timer);
    nm_upload_reply_done(&job->last);
    free(job);
    return NULL;
}

/* ---- reports ------------------------------------------------------------------------------ */

/* Takes a report. Any process of the user can write a line, but a false line only concerns this user's own logs. A
 * "done" or "failed" becomes valid when the process has ended, so that a false line before that has no effect.
 * nm-log-uploader writes printable ASCII, but a false line may have other characters, which must not get into the
 * log. */
static void on_line(const char *line, size_t size, bool has_ended, void *userdata)
{
    struct nm_yarn_log_job *job = userdata;
    struct nm_upload_reply reply = {0};
    char text[TEXT_SIZE];

    (void)has_ended;
    if (nm_upload_reply_parse(line, size, &reply) < 0)
        return;
    job->heard_usec = nm_now_usec();
    if (reply.state == NM_UPLOAD_UPLOADING) {
        job->bytes = reply.bytes;
        job->total_bytes = reply.total_bytes;
    } else if (reply.state == NM_UPLOAD_NOTE) {
        if (job->n_notes++ < NM_UPLOAD_MAX_NOTES)
            job->params.note(job, nm_yarn_conf_printable(reply.text, text, sizeof text), job->params.userdata);
    } else {
        nm_upload_reply_done(&job->last);
        job->last = reply;
        job->has_last = true;
        return;
    }
    nm_upload_reply_done(&reply);
}

/* Returns the result. A run that ended without a result, for example because it was killed or had too little memory,
 * may succeed the next time. */
static struct nm_yarn_log_outcome outcome_of(const struct nm_yarn_log_job *job, const char *reason)
{
    const struct nm_upload_reply *r = &job->last;

    if (!job->has_last)
        return (struct nm_yarn_log_outcome){.result = NM_YARN_LOG_TEMPORARY, .name = "",
                                            .error = *job->killed_why ? job->killed_why : reason};
    if (r->state == NM_UPLOAD_DONE)
        return (struct nm_yarn_log_outcome){.result = NM_YARN_LOG_DONE, .error = "", .name = r->name,
                                            .bytes = r->bytes, .n_files = r->n_files};
    return (struct nm_yarn_log_outcome){.result = r->is_temporary ? NM_YARN_LOG_TEMPORARY : NM_YARN_LOG_PERMANENT,
                                        .error = r->text, .name = ""};
}

static void on_end(const char *reason, void *userdata)
{
    struct nm_yarn_log_job *job = userdata;
    struct nm_yarn_log_outcome outcome = outcome_of(job, reason);
    char error[TEXT_SIZE], name[TEXT_SIZE];

    outcome.error = nm_yarn_conf_printable(outcome.error, error, sizeof error);
    outcome.name = nm_yarn_conf_printable(outcome.name, name, sizeof name);
    job->params.ended(job, &outcome, job->params.userdata);
}

/* ---- limits ------------------------------------------------------------------------------- */

nm_printf(2, 3) static void kill_for(struct nm_yarn_log_job *job, const char *format, ...)
{
    va_list ap;

    if (*job->killed_why)
        return;
    va_start(ap, format);
    (void)vsnprintf(job->killed_why, sizeof job->killed_why, format, ap);
    va_end(ap);
    nm_worker_process_kill(job->process);
}

static void on_overrun(void *userdata)
{
    kill_for(userdata, "nm-log-uploader wrote too many reports, and was killed");
}

static void set_timer(struct nm_yarn_log_job *job)
{
    const uint64_t silent = nm_add_u64(job->heard_usec, job->params.silent_usec);
    const uint64_t end = nm_add_u64(job->started_usec, job->params.most_usec);

    (void)sd_event_source_set_time(job->timer, NM_MIN(silent, end));
    (void)sd_event_source_set_enabled(job->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_yarn_log_job *job = userdata;
    const uint64_t now_usec = nm_now_usec();

    (void)source, (void)usec;
    if (now_usec - job->heard_usec >= job->params.silent_usec)
        kill_for(job, "nm-log-uploader reported nothing for %" PRIu64 " seconds, and was killed",
                 job->params.silent_usec / NM_USEC_PER_SEC);
    else if (now_usec - job->started_usec >= job->params.most_usec)
        kill_for(job, "nm-log-uploader ran for more than %" PRIu64 " seconds, and was killed",
                 job->params.most_usec / NM_USEC_PER_SEC);
    else
        set_timer(job);
    return 0;
}

/* ---- start -------------------------------------------------------------------------------- */

static int start(struct nm_yarn_log_job *job)
{
    const struct nm_yarn_log_job_params *p = &job->params;
    const struct nm_worker_process_params process = {
        .event = p->event, .program_fd = p->program_fd, .name = "nm-log-uploader", .uid = p->uid, .gid = p->gid,
        .account = p->account, .work = p->work, .extra_lines = NM_UPLOAD_MAX_NOTES,
        .most_memory_bytes = p->most_memory_bytes, .line = on_line, .ended = on_end, .overran = on_overrun,
        .userdata = job};
    int r = sd_event_add_time(p->event, &job->timer, CLOCK_BOOTTIME, 0, NM_USEC_PER_SEC / 4, on_timer, job);

    if (r < 0)
        return r;
    (void)sd_event_source_set_description(job->timer, "log-upload-limit");
    set_timer(job);
    return nm_worker_process_new(&process, &job->process);
}

int nm_yarn_log_job_new(const struct nm_yarn_log_job_params *p, struct nm_yarn_log_job **ret)
{
    _cleanup_(nm_yarn_log_job_freep) struct nm_yarn_log_job *job = calloc(1, sizeof *job);
    int r;

    assert(p->note && p->ended && p->silent_usec > 0 && p->most_usec > 0);
    if (!job)
        return -ENOMEM;
    job->params = *p;
    job->started_usec = job->heard_usec = nm_now_usec();
    r = start(job);
    if (r < 0)
        return r;
    job->params.work = job->params.account = NULL; /* not valid any more */
    *ret = STEAL_PTR(job);
    return 0;
}

void nm_yarn_log_job_progress(const struct nm_yarn_log_job *job, uint64_t *ret_bytes, uint64_t *ret_total)
{
    *ret_bytes = job->bytes;
    *ret_total = job->total_bytes;
}

uint64_t nm_yarn_log_job_started_usec(const struct nm_yarn_log_job *job)
{
    return job->started_usec;
}
