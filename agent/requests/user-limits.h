/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/*
 * What one user may hold of the node's places, whichever way it asks: containers that live, places
 * in the queue, and bytes of commands. Administrators are bound by what there is in all. 0, or a
 * refusal with *ret_problem filled.
 */

/* One container more, with a command and an owner's blob of so many bytes; what is opportunistic takes a place in the
 * queue as well. */
int nm_user_limits_check(const struct nm_manager *m, const struct nm_caller *who, enum nm_execution_type type,
                         uint64_t command_bytes, struct nm_problem *ret_problem);
/* One more whose result is kept for its owner. */
int nm_user_limits_check_results(const struct nm_manager *m, struct nm_problem *ret_problem);
/* So many bytes more, kept with one that is there. */
int nm_user_limits_check_bytes(const struct nm_manager *m, uint64_t more_bytes, struct nm_problem *ret_problem);
/* One place in the queue more, for one that is there. */
int nm_user_limits_check_queue(const struct nm_manager *m, const struct nm_caller *who,
                               struct nm_problem *ret_problem);
