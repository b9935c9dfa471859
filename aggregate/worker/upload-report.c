/* SPDX-License-Identifier: Apache-2.0 */

/* See upload-report.h. */

#include "aggregate/worker/upload-report.h"

#include <jansson.h>

#include "aggregate/upload-protocol.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"

/* Texts are shown on terminals and may quote a server or a file name, so other characters than printable ASCII are
 * replaced. The limit leaves room for the backslashes that JSON adds. */
#define TEXT_BYTES (NM_UPLOAD_LINE_MAX_BYTES / 2 - 64)

/* Writes a line. Ignores a closed pipe: the upload continues, because the next attempt then finds it done. */
static void write_line(struct nm_upload_report *report, json_t *json)
{
    char line[NM_UPLOAD_LINE_MAX_BYTES];
    size_t size = json ? json_dumpb(json, line, sizeof line - 1, JSON_COMPACT) : 0;

    json_decref(json);
    if (size == 0 || size >= sizeof line)
        return;
    line[size] = '\n';
    (void)nm_write_all(report->fd, line, size + 1);
}

static void make_plain(const char *text, char plain[static TEXT_BYTES])
{
    size_t i = 0;

    for (; text[i] && i < TEXT_BYTES - 1; i++)
        plain[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    plain[i] = '\0';
}

void nm_upload_report_progress(struct nm_upload_report *report, uint64_t bytes, uint64_t total_bytes)
{
    uint64_t now_usec = nm_now_usec();

    if (now_usec - report->last_usec < NM_UPLOAD_REPORT_INTERVAL_USEC)
        return;
    report->last_usec = now_usec;
    write_line(report, json_pack("{s:s, s:I, s:I}", "state", "uploading", "bytes", (json_int_t)bytes, "total",
                                 (json_int_t)NM_MIN(total_bytes, (uint64_t)INT64_MAX)));
}

void nm_upload_report_note(struct nm_upload_report *report, const char *format, ...)
{
    _cleanup_free_ char *text = NULL;
    char plain[TEXT_BYTES];
    va_list ap;

    if (report->n_notes >= NM_UPLOAD_MAX_NOTES)
        return;
    va_start(ap, format);
    text = nm_strdup_vprintf(format, ap);
    va_end(ap);
    report->n_notes++;
    if (!text)
        return;
    make_plain(report->n_notes < NM_UPLOAD_MAX_NOTES ? text : "there are more notes, which are left out", plain);
    write_line(report, json_pack("{s:s, s:s}", "state", "note", "text", plain));
}

void nm_upload_report_done(struct nm_upload_report *report, uint64_t bytes, uint64_t n_files, const char *name)
{
    write_line(report, json_pack("{s:s, s:I, s:I, s:s}", "state", "done", "bytes", (json_int_t)bytes, "files",
                                 (json_int_t)n_files, "name", name));
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
    char plain[TEXT_BYTES];

    make_plain(message, plain);
    write_line(report, json_pack("{s:s, s:s, s:b, s:b}", "state", "failed", "error", plain, "temporary",
                                 !is_permanent(error), "full", is_full));
}
