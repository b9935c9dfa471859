/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Collects all errors of a series of checks, instead of the first one only. Each error is one sentence on one line. A
 * struct initialized with {} has no errors.
 */

#include "util/error.h"

struct nm_refusals {
    char *text; /* sentences separated by newlines; NULL: no sentences were added */
    int error;  /* error of the first failed check */
};

/* Adds the result r of a check and its message, which may be NULL or have several lines, and takes the message over. r
 * >= 0 means success, and the message isn't added. A sentence that is already present isn't added again. Returns 0 or
 * -ENOMEM. */
int nm_refusals_add(struct nm_refusals *all, int r, char *message);
/* Returns the first error, with all sentences in *ret_message, or 0. Leaves `all` empty. */
int nm_refusals_take(struct nm_refusals *all, char **ret_message);
void nm_refusals_done(struct nm_refusals *all);
