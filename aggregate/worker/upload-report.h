/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The writing side of upload-protocol.h: nm-log-uploader reports to nmd. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

struct nm_upload_report {
    int fd;
    uint64_t last_usec;
    unsigned n_notes;
};

/* Reports progress if the last report is old enough. Most calls have no effect. */
void nm_upload_report_progress(struct nm_upload_report *report, uint64_t bytes, uint64_t total_bytes);
/* Reports a sentence about something that is left out. Further notes than NM_UPLOAD_MAX_NOTES aren't written. */
nm_printf(2, 3) void nm_upload_report_note(struct nm_upload_report *report, const char *format, ...);
void nm_upload_report_done(struct nm_upload_report *report, uint64_t bytes, uint64_t n_files, const char *name);
/* error: -errno, from which the function derives whether another attempt may succeed. */
void nm_upload_report_failed(struct nm_upload_report *report, int error, const char *message);
