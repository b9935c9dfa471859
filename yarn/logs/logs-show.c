/* SPDX-License-Identifier: Apache-2.0 */

/* The log and the status of log aggregation: see logs.h. */

#include "yarn/logs/logs-state.h"

#include "util/clock.h"
#include "util/error.h"
#include "util/utf8.h"
#include "yarn/logs/log-state.h"

/* ---- log ---------------------------------------------------------------------------------- */

void nm_yarn_logs_log(const struct nm_yarn_logs *l, int level, const char *format, ...)
{
    _cleanup_free_ char *sentence = NULL;
    va_list ap;

    va_start(ap, format);
    sentence = nm_strdup_vprintf(format, ap);
    va_end(ap);
    if (sentence && l->p.report_cb)
        l->p.report_cb(level, sentence);
}

/* ---- JSON --------------------------------------------------------------------------------- */

/* Returns the word for what happens to the application's logs. */
static const char *state_of(const struct nm_yarn_log_book *b)
{
    if (b->state != NM_YARN_LOG_OPEN)
        return nm_yarn_log_state_name(b->state);
    if (b->upload.is_attempted)
        return "uploading";
    if (b->failures > 0)
        return "failing";
    return b->is_finished || b->upload.msec > 0 ? "waiting" : "running";
}

static const struct nm_yarn_log_job *find_job(const struct nm_yarn_logs *l, const struct nm_yarn_log_book *b)
{
    for (size_t i = 0; i < (size_t)l->p.settings->logs.uploads; i++)
        if (l->slots[i].job && l->slots[i].book == b)
            return l->slots[i].job;
    return NULL;
}

static json_t *show_book(const struct nm_yarn_logs *l, const struct nm_yarn_log_book *b, bool with_users)
{
    const struct nm_yarn_log_job *job = find_job(l, b);
    const uint64_t now_usec = nm_now_usec(), due_usec = nm_yarn_log_book_due(b);
    uint64_t bytes = 0, total_bytes = 0;

    if (job)
        nm_yarn_log_job_progress(job, &bytes, &total_bytes);
    return json_pack("{s:s, s:s?, s:s, s:I, s:I, s:I, s:I, s:o, s:s%}", "application", b->id,
                     "user", with_users ? b->user : NULL, "state", state_of(b),
                     "containers", (json_int_t)b->n_ended, "bytes", (json_int_t)bytes,
                     "total_bytes", (json_int_t)total_bytes, "failures", (json_int_t)b->failures,
                     "next_usec", due_usec == NM_YARN_LOG_NEVER
                                      ? json_null()
                                      : json_integer((json_int_t)nm_sub_u64(due_usec, now_usec)),
                     "error", with_users ? b->error : "", with_users ? nm_utf8_prefix(b->error) : 0);
}

/* Lists the applications that upload or fail first, since the list is limited. */
static bool is_busy(const struct nm_yarn_log_book *b)
{
    return b->upload.is_attempted || b->failures > 0;
}

static json_t *list_books(const struct nm_yarn_logs *l, bool with_users)
{
    json_t *list = json_array();

    for (int busy = 1; list && busy >= 0; busy--)
        for (const struct nm_yarn_log_book *b = l->books; b && json_array_size(list) < NM_YARN_LOGS_SHOWN_MAX;
             b = b->next)
            if (is_busy(b) == (busy == 1) && json_array_append_new(list, show_book(l, b, with_users)) < 0) {
                json_decref(list);
                return NULL;
            }
    return list;
}

struct counts {
    size_t waiting, failing;
};

static struct counts count(const struct nm_yarn_logs *l)
{
    struct counts n = {0};

    for (const struct nm_yarn_log_book *b = l->books; b; b = b->next) {
        const bool is_open = b->state == NM_YARN_LOG_OPEN && !b->upload.is_attempted;

        n.failing += is_open && b->failures > 0;
        n.waiting += is_open && b->failures == 0 && (b->is_finished || b->upload.msec > 0);
    }
    return n;
}

json_t *nm_yarn_logs_to_json(const struct nm_yarn_logs *l, bool with_users)
{
    const struct nm_yarn_log_totals *t = &l->totals;
    const struct counts n = count(l);

    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "remote",
                     l->p.settings->logs.remote, "format", l->p.settings->logs.is_indexed ? "IndexedFile" : "TFile",
                     "running", (json_int_t)l->n_running, "waiting", (json_int_t)n.waiting, "failing",
                     (json_int_t)n.failing, "uploaded", (json_int_t)t->uploaded, "given_up", (json_int_t)t->given_up,
                     "attempts", (json_int_t)t->attempts, "failures", (json_int_t)t->failures, "files",
                     (json_int_t)t->files, "bytes", (json_int_t)t->bytes, "applications",
                     list_books(l, with_users));
}

/* ---- metrics ------------------------------------------------------------------------------ */

static void write_one(const struct nm_metric_writer *w, const char *name, enum nm_metric_type type, const char *help,
                      uint64_t value)
{
    w->family(w->to, name, type, help);
    w->sample(w->to, name, NULL, (double)value);
}

void nm_yarn_logs_write_metrics(const struct nm_yarn_logs *l, const struct nm_metric_writer *w)
{
    const struct nm_yarn_log_totals *t = &l->totals;
    const struct counts n = count(l);

    write_one(w, "nm_log_uploads_running", NM_METRIC_GAUGE, "Uploads of logs that are in progress.", l->n_running);
    write_one(w, "nm_log_uploads_waiting", NM_METRIC_GAUGE, "Applications whose logs wait for an upload.", n.waiting);
    write_one(w, "nm_log_uploads_failing", NM_METRIC_GAUGE,
              "Applications whose last upload attempt failed and is repeated.", n.failing);
    write_one(w, "nm_log_uploads_done_total", NM_METRIC_COUNTER, "Applications whose logs were completely uploaded.",
              t->uploaded);
    write_one(w, "nm_log_uploads_given_up_total", NM_METRIC_COUNTER,
              "Applications whose logs were not completely uploaded.", t->given_up);
    write_one(w, "nm_log_upload_attempts_total", NM_METRIC_COUNTER, "Runs of nm-log-uploader.", t->attempts);
    write_one(w, "nm_log_upload_failures_total", NM_METRIC_COUNTER, "Failed attempts of uploads.", t->failures);
    write_one(w, "nm_log_upload_files_total", NM_METRIC_COUNTER,
              "Log files that were uploaded, as reported by processes of their users.", t->files);
    write_one(w, "nm_log_upload_bytes_total", NM_METRIC_COUNTER,
              "Size of the remote files with logs in bytes, as reported by processes of their users; for one upload at "
              "most the used space of the log directories.", t->bytes);
}
