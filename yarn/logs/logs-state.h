/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The state that the files of logs.h share. The files are layers: tests/style has their order. */

#include "yarn/logs/log-book.h"
#include "yarn/logs/log-job.h"
#include "yarn/logs/log-reports.h"
#include "yarn/logs/logs.h"

/* An attempt that is running. */
struct nm_yarn_log_slot {
    struct nm_yarn_log_job *job; /* NULL: the slot is free */
    struct nm_yarn_log_book *book;
    uint64_t most_bytes; /* the largest plausible size of the remote file */
};

struct nm_yarn_log_totals {
    uint64_t uploaded, given_up; /* applications */
    uint64_t attempts, failures; /* runs of nm-log-uploader; failed attempts */
    uint64_t files, bytes;       /* log files, and the size of the remote files */
};

struct nm_yarn_logs {
    struct nm_yarn_logs_params p;
    struct nm_yarn_log_book *books;
    size_t n_books;
    struct nm_yarn_log_reports reports;
    int state_fd, program_fd;
    uint64_t started_usec, started_realtime_usec; /* when nmd was started */
    char node[300]; /* host:port; "" while the name is not known yet */
    struct nm_yarn_log_slot *slots; /* settings->logs.uploads */
    size_t n_running;
    /* The remote directory itself is made or checked before the first upload, and again after a failure, since somebody
     * may have removed it. */
    struct nm_yarn_log_job *prepare_job;
    bool is_prepared, is_away; /* is_away: the newest check has failed */
    uint64_t prepare_due_usec;
    uid_t owner_uid; /* local account that makes the remote directory */
    gid_t owner_gid;
    sd_event_source *timer; /* the next attempt */
    struct nm_yarn_log_totals totals;
};

/* ---- logs-show.c ---- */
nm_printf(3, 4) void nm_yarn_logs_log(const struct nm_yarn_logs *l, int level, const char *format, ...);

/* ---- logs-uploads.c ---- */
/* Schedules a look at the books, after something has become due. */
void nm_yarn_logs_wake(struct nm_yarn_logs *l);
int nm_yarn_logs_on_timer(sd_event_source *source, uint64_t usec, void *userdata);
/* Acts on the books of an application whose logs are uploaded or were given up: saves this, releases the local logs,
 * and reports to the ResourceManager. */
void nm_yarn_logs_close(struct nm_yarn_logs *l, struct nm_yarn_log_book *b);
