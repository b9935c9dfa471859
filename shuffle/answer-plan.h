/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the maps of an answer, and computes its length. */

#include "shuffle/answer-state.h"

int nm_shuffle_plan_init(struct nm_shuffle_plan *p, const struct nm_shuffle_request *q);
void nm_shuffle_plan_done(struct nm_shuffle_answer *a);

/* Plans the current map. Returns 0, NM_SHUFFLE_E_WAIT or -errno. */
int nm_shuffle_plan_map(struct nm_shuffle_answer *a);
/* Ensures that the lengths of the current map's parts are loaded. Returns 0, NM_SHUFFLE_E_WAIT, or -EBADMSG if they
 * differ from the plan. The connection must break then, because the client already has the answer's length. */
int nm_shuffle_plan_ensure_lengths(struct nm_shuffle_answer *a);
/* Makes the heads of the current map's parts, starting at this position in the range. */
int nm_shuffle_plan_make_heads(struct nm_shuffle_answer *a, uint32_t from);
/* Closes the file of a map if it was kept. */
void nm_shuffle_plan_drop_file(struct nm_shuffle_answer *a, unsigned i);
