/* SPDX-License-Identifier: Apache-2.0 */

/* See worker-report.h. */

#include "localize/worker/worker-report.h"

#include <errno.h>
#include <jansson.h>

#include "localize/worker-protocol.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/macros.h"

/* Writes a line. Ignores a closed pipe, and the work continues, because the fetched resource can be used for the next
 * ask. */
static void write_line(struct nm_worker_report *report, json_t *json)
{
    char line[NM_WORKER_REPORT_LINE_MAX_BYTES];
    size_t size = json ? json_dumpb(json, line, sizeof line - 1, JSON_COMPACT) : 0;

    json_decref(json);
    if (size == 0 || size >= sizeof line)
        return;
    line[size] = '\n';
    (void)nm_write_all(report->fd, line, size + 1);
}

void nm_worker_report_progress(struct nm_worker_report *report, const char *state, uint64_t bytes, uint64_t total_bytes)
{
    uint64_t now_usec = nm_now_usec();

    if (now_usec - report->last_usec < NM_WORKER_REPORT_INTERVAL_USEC)
        return;
    report->last_usec = now_usec;
    write_line(report, json_pack("{s:I, s:s, s:I, s:I}", report->list, (json_int_t)report->index, "state", state,
                                 "bytes", (json_int_t)bytes, "total", (json_int_t)total_bytes));
}

void nm_worker_report_done(struct nm_worker_report *report, uint64_t bytes, bool is_listed)
{
    write_line(report, json_pack("{s:I, s:o*, s:s, s:I}", report->list, (json_int_t)report->index, "listed",
                                 is_listed ? json_true() : NULL, "state", "done", "bytes", (json_int_t)bytes));
}

/* Reports a failure. The message may quote a server and is shown on terminals, so characters other than printable ASCII
 * are replaced by '?'. The limit on the message leaves room for the backslashes that JSON adds before quotes. */
void nm_worker_report_failed(struct nm_worker_report *report, int error, const char *message)
{
    char plain[NM_WORKER_REPORT_LINE_MAX_BYTES / 2 - 64];
    json_t *json;
    size_t i = 0;

    for (; message[i] && i < sizeof plain - 1; i++)
        plain[i] = message[i] >= ' ' && message[i] <= '~' ? message[i] : '?';
    plain[i] = '\0';
    json = json_pack("{s:I, s:s, s:s}", report->list, (json_int_t)report->index, "state", "failed", "error", plain);
    if (error == -ENOSPC || error == -EDQUOT)
        (void)json_object_set_new(json, "full", json_true());
    write_line(report, json);
}
