/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Selects log files by their names, with the patterns of an application's LogAggregationContext. */

#include <stdbool.h>

#include "aggregate/worker/upload-report.h"
#include "aggregate/worker/upload-work.h"
#include "localize/pattern/pattern.h"

enum nm_upload_pattern {
    NM_UPLOAD_INCLUDE,
    NM_UPLOAD_EXCLUDE,
    NM_UPLOAD_ROLLED_INCLUDE,
    NM_UPLOAD_ROLLED_EXCLUDE,
    NM_UPLOAD_PATTERNS, /* number of patterns */
};

struct nm_upload_select {
    struct nm_pattern *patterns[NM_UPLOAD_PATTERNS]; /* NULL: not given, or not usable */
    struct nm_upload_report *report;
};

/* Compiles the patterns. A pattern that can't be used is treated as if it weren't given, with a note: a user would
 * rather have too many logs than none. */
int nm_upload_select_init(struct nm_upload_select *s, const struct nm_upload_work *work,
                          struct nm_upload_report *report);
void nm_upload_select_done(struct nm_upload_select *s);

/* Returns whether a file with this name is uploaded now. */
bool nm_upload_select_match(struct nm_upload_select *s, const char *name, bool is_running);
