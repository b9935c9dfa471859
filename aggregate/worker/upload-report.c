/* SPDX-License-Identifier: Apache-2.0 */

/* See upload-report.h. */

#include "aggregate/worker/upload-report.h"

#include <jansson.h>

#include "aggregate/upload-protocol.h"
#include "localize/worker/report-line.h"
#include "util/error.h"

void nm_upload_report_progress(struct nm_upload_report *report, uint64_t bytes, uint64_t total_bytes)
{
    if (nm_report_line_is_due(&report->last_usec))
        nm_report_line_write(report->fd,
                             json_pack("{s:s, s:I, s:I}", "state", "uploading", "bytes", (json_int_t)bytes, "total",
                                       (json_int_t)NM_MIN(total_bytes, (uint64_t)INT64_MAX)));
}

void nm_upload_report_note(struct nm_upload_report *report, const char *format, ...)
{
    _cleanup_free_ char *text = NULL;
    char plain[NM_REPORT_TEXT_BYTES];
    va_list ap;

    if (report->n_notes >= NM_UPLOAD_MAX_NOTES)
        return;
    va_start(ap, format);
    text = nm_strdup_vprintf(format, ap);
    va_end(ap);
    report->n_notes++;
    if (!text)
        return;
    (void)nm_report_line_text(report->n_notes < NM_UPLOAD_MAX_NOTES ? text : "there are more notes, which are left out",
                              plain);
    nm_report_line_write(report->fd, json_pack("{s:s, s:s}", "state", "note", "text", plain));
}

void nm_upload_report_done(struct nm_upload_report *report, uint64_t bytes, uint64_t n_files, const char *name)
{
    nm_report_line_write(report->fd, json_pack("{s:s, s:I, s:I, s:s}", "state", "done", "bytes", (json_int_t)bytes,
                                               "files", (json_int_t)n_files, "name", name));
}

/* Returns whether another attempt has no prospect of success: the user lacks a permission, or an input is invalid. */
static bool is_permanent(int error)
{
    return error == -EACCES || error == -EPERM || error == -EINVAL || error == -EBADMSG || error == -ENAMETOOLONG ||
           error == -ENOTDIR || error == -ELOOP;
}

void nm_upload_report_failed(struct nm_upload_report *report, int error, const char *message)
{
    const bool is_full = error == -ENOSPC || error == -EDQUOT;
    char plain[NM_REPORT_TEXT_BYTES];

    nm_report_line_write(report->fd, json_pack("{s:s, s:s, s:b, s:b}", "state", "failed", "error",
                                               nm_report_line_text(message, plain), "temporary", !is_permanent(error),
                                               "full", is_full));
}
