/* SPDX-License-Identifier: Apache-2.0 */

/* See report-line.h. */

#include "localize/worker/report-line.h"

#include "util/clock.h"
#include "util/fileio.h"

void nm_report_line_write(int fd, json_t *json)
{
    char line[NM_WORKER_REPORT_LINE_MAX_BYTES];
    size_t size = json ? json_dumpb(json, line, sizeof line - 1, JSON_COMPACT) : 0;

    json_decref(json);
    if (size == 0 || size >= sizeof line)
        return;
    line[size] = '\n';
    (void)nm_write_all(fd, line, size + 1);
}

bool nm_report_line_is_due(uint64_t *last_usec)
{
    const uint64_t now_usec = nm_now_usec();

    if (now_usec - *last_usec < NM_WORKER_REPORT_INTERVAL_USEC)
        return false;
    *last_usec = now_usec;
    return true;
}

const char *nm_report_line_text(const char *text, char buf[static NM_REPORT_TEXT_BYTES])
{
    size_t i = 0;

    for (; text[i] && i < NM_REPORT_TEXT_BYTES - 1; i++)
        buf[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    buf[i] = '\0';
    return buf;
}
