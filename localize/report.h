/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What nm-localizer says, one JSON object a line on its standard output:
 *
 *   {"resource": 0, "state": "fetching" or "unpacking", "bytes": ..., "total": ...}   (total 0: nobody knows)
 *   {"removal": 0, "state": "removing", "bytes": 0, "total": 0}
 *   {"resource": 0, "state": "done", "bytes": what it takes here}   (with "listed": true where listing.h has a list)
 *   {"resource": 0, "state": "failed", "error": "a sentence"}   (with "full": true where a disk or a quota was full)
 *
 * "resource" is the position in the list; for a removal that member is called "removal", and for a check "check", which
 * has failed where something is missing. "done" or "failed" comes once
 * for each. The others report progress, a few times a second at most. Neither may the reader be kept waiting, nor may a
 * slow reader delay the work for long.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NM_REPORT_INTERVAL_USEC UINT64_C(250000)
#define NM_REPORT_LINE_MAX_BYTES 4096U

struct nm_report {
    int fd;
    const char *list; /* "resource", "removal" or "check" */
    size_t index;     /* in that */
    uint64_t last_usec;
};

/* Now and then; most calls do nothing. */
void nm_report_progress(struct nm_report *report, const char *state, uint64_t bytes, uint64_t total_bytes);
void nm_report_done(struct nm_report *report, uint64_t bytes, bool is_listed);
void nm_report_failed(struct nm_report *report, int error, const char *message);
