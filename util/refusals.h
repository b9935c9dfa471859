/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Everything that is wrong, and not the first thing alone: sentences of one line each, collected while checks go on
 * after one that has failed. {} is empty.
 */

#include "util/error.h"

struct nm_refusals {
    char *text; /* the sentences, with a newline between two; NULL: there are none */
    int error;  /* the first check's */
};

/* What a check returned, with its message, which may be several lines or NULL and is taken over. Not negative: nothing
 * is refused. A sentence that is there already isn't added again. Returns -ENOMEM, or 0. */
int nm_refusals_add(struct nm_refusals *all, int r, char *message);
/* The error of the first with all sentences in *ret_message, or 0. Leaves `all` empty. */
int nm_refusals_take(struct nm_refusals *all, char **ret_message);
void nm_refusals_done(struct nm_refusals *all);
