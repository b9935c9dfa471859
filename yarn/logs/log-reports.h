/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reports to the ResourceManager about the uploads. Each heartbeat contains a report until one of them is answered. A
 * registration repeats the final reports of the last time. */

#include <sys/queue.h>

#include "rpc/hadoop/arena.h"
#include "yarn/ids.h"
#include "yarn/tracker.pb-c.h"

/* Numbers of Hadoop's LogAggregationStatus. */
enum nm_yarn_log_status {
    NM_YARN_LOG_STATUS_RUNNING = 3,
    NM_YARN_LOG_STATUS_SUCCEEDED = 4,
    NM_YARN_LOG_STATUS_FAILED = 5,
    NM_YARN_LOG_STATUS_RUNNING_WITH_FAILURE = 7,
};

struct nm_yarn_log_report;
TAILQ_HEAD(nm_yarn_log_report_list, nm_yarn_log_report);

struct nm_yarn_log_reports {
    struct nm_yarn_log_report_list pending, recent; /* recent: final reports that were answered, for a registration */
    size_t n_pending, n_recent;
    /* Called when the final report of an application was answered. */
    void (*settled)(const struct nm_yarn_application_id *id, void *userdata);
    void *userdata;
};

void nm_yarn_log_reports_init(struct nm_yarn_log_reports *all);
void nm_yarn_log_reports_done(struct nm_yarn_log_reports *all);

/* Adds a report. It replaces an earlier report of the same application with the same status that wasn't sent yet. text:
 * the diagnostics. -ENOMEM. */
int nm_yarn_log_reports_add(struct nm_yarn_log_reports *all, const struct nm_yarn_application_id *id,
                            enum nm_yarn_log_status status, const char *text);
bool nm_yarn_log_reports_has_pending(const struct nm_yarn_log_reports *all);

/* Writes the pending reports into a heartbeat. The oldest come first, and others wait for the next heartbeat. The texts
 * aren't copied. nm_yarn_log_reports_answered() then removes what the heartbeat contained. */
int nm_yarn_log_reports_fill(struct nm_yarn_log_reports *all, struct nm_arena *arena, Yarn__LogReport ***ret,
                             size_t *ret_n);
void nm_yarn_log_reports_answered(struct nm_yarn_log_reports *all, uint64_t now_usec);
/* Writes the pending and the recent reports into a registration. */
int nm_yarn_log_reports_fill_all(struct nm_yarn_log_reports *all, struct nm_arena *arena, uint64_t now_usec,
                                 Yarn__LogReport ***ret, size_t *ret_n);
