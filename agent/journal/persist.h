/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Changes the container's state, journals it and notifies subscribers. */
void nm_persist_set_state(struct nm_live_container *l, enum nm_state to);
/* Writes the container's row. Returns 0 or -errno. */
int nm_persist_journal(struct nm_live_container *l);
/* Write the container's snapshot (container-snapshot.h): the first function if the container was launched or has a
 * snapshot already, the second if the container waits and has no snapshot yet, the third always. */
int nm_persist_snapshot(struct nm_live_container *l);
void nm_persist_snapshot_waiting(struct nm_live_container *l);
int nm_persist_write_snapshot(struct nm_live_container *l);
/* Refuses requests that are not urgent while the journal cannot be written, because a successful result must outlive
 * nmd. */
int nm_persist_check(struct nm_manager *m, struct nm_problem *ret_problem);
/* Refuses a request because of this error of the journal. */
int nm_persist_refuse(const struct nm_manager *m, int error, struct nm_problem *ret_problem);
/* Makes the answer for an urgent request, which is carried out even if the journal cannot be written. id: the
 * container; done: the completed action. */
int nm_persist_answer(const struct nm_manager *m, const char *id, const char *done, struct nm_problem *ret_problem);
