/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The writing side of worker-protocol.h: nm-localizer reports to nmd. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nm_worker_report {
    int fd;
    const char *list; /* "resource", "removal" or "check" */
    size_t index;     /* index of the item in the list */
    uint64_t last_usec;
};

/* Reports progress if the last report is old enough. Most calls have no effect. */
void nm_worker_report_progress(struct nm_worker_report *report, const char *state, uint64_t bytes,
                               uint64_t total_bytes);
void nm_worker_report_done(struct nm_worker_report *report, uint64_t bytes, bool is_listed);
void nm_worker_report_failed(struct nm_worker_report *report, int error, const char *message);
