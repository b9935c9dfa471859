/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Prints the findings as a table and as JSON. */

#include <jansson.h>
#include <stdio.h>

#include "nmscale/choose.h"

struct nm_scale_finding {
    const struct nm_scale_model *model;
    const struct nm_scale_verdict *verdicts; /* one verdict per node */
    const struct nm_scale_rules *rules;
    const char *rm;
    uint64_t now_msec;
    bool all;
};

size_t nm_scale_count(const struct nm_scale_finding *f, enum nm_scale_reason reason);

/* Prints a summary sentence, then the table. If the table has no rows, it is omitted. */
void nm_scale_print_table(FILE *out, const struct nm_scale_finding *f);

/* Returns the findings as JSON; NULL: no memory. */
json_t *nm_scale_to_json(const struct nm_scale_finding *f);
