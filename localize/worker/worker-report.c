/* SPDX-License-Identifier: Apache-2.0 */

/* See worker-report.h. */

#include "localize/worker/worker-report.h"

#include <errno.h>
#include <jansson.h>

#include "localize/worker/report-line.h"

void nm_worker_report_progress(struct nm_worker_report *report, const char *state, uint64_t bytes, uint64_t total_bytes)
{
    if (nm_report_line_is_due(&report->last_usec))
        nm_report_line_write(report->fd, json_pack("{s:I, s:s, s:I, s:I}", report->list, (json_int_t)report->index,
                                                   "state", state, "bytes", (json_int_t)bytes, "total",
                                                   (json_int_t)total_bytes));
}

void nm_worker_report_done(struct nm_worker_report *report, uint64_t bytes, bool is_listed)
{
    nm_report_line_write(report->fd, json_pack("{s:I, s:o*, s:s, s:I}", report->list, (json_int_t)report->index,
                                               "listed", is_listed ? json_true() : NULL, "state", "done", "bytes",
                                               (json_int_t)bytes));
}

void nm_worker_report_failed(struct nm_worker_report *report, int error, const char *message)
{
    char plain[NM_REPORT_TEXT_BYTES];
    json_t *json = json_pack("{s:I, s:s, s:s}", report->list, (json_int_t)report->index, "state", "failed", "error",
                             nm_report_line_text(message, plain));

    if (error == -ENOSPC || error == -EDQUOT)
        (void)json_object_set_new(json, "full", json_true());
    nm_report_line_write(report->fd, json);
}
