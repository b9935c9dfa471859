/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

void nm_keep_set_state(struct nm_live *l, enum nm_state to); /* journals and tells */
int nm_keep_journal(struct nm_live *l);
int nm_keep_copy(struct nm_live *l); /* see copy.h; for those that were launched or have one */
void nm_keep_copy_waiting(struct nm_live *l); /* for those that wait and have none yet */
int nm_keep_write_copy(struct nm_live *l); /* in any case */
/* What isn't urgent is refused while the journal can't be written: an answer of success has to outlive nmd. */
int nm_keep_check(struct nm_manager *m, struct nm_problem *ret_problem);
int nm_keep_refuse(const struct nm_manager *m, int error, struct nm_problem *ret_problem); /* its words */
/* What is urgent is done all the same, and then this is its answer. id: of whom; done: what. */
int nm_keep_answer(const struct nm_manager *m, const char *id, const char *done, struct nm_problem *ret_problem);
