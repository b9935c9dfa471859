/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Changes the container's state, journals it and tells subscribers. */
void nm_persist_set_state(struct nm_live_container *l, enum nm_state to);
/* Writes the container's row. 0 or -errno. */
int nm_persist_journal(struct nm_live_container *l);
/* Write the container's snapshot (container-snapshot.h): the first if the container was launched or has a snapshot
 * already, the second if it waits and has none yet, the third always. */
int nm_persist_snapshot(struct nm_live_container *l);
void nm_persist_snapshot_waiting(struct nm_live_container *l);
int nm_persist_write_snapshot(struct nm_live_container *l);
/* What isn't urgent is refused while the journal can't be written: an answer of success has to outlive nmd. */
int nm_persist_check(struct nm_manager *m, struct nm_problem *ret_problem);
int nm_persist_refuse(const struct nm_manager *m, int error, struct nm_problem *ret_problem); /* its words */
/* What is urgent is done all the same, and then this is its answer. id: of whom; done: what. */
int nm_persist_answer(const struct nm_manager *m, const char *id, const char *done, struct nm_problem *ret_problem);
