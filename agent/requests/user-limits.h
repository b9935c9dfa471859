/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/*
 * Limits of what one user may hold on the node, through any interface: live containers, places in the queue, and bytes
 * of commands. Administrators have only the node's limits. The functions return 0, or a refusal with *ret_problem
 * filled.
 */

/* Checks one additional container with command_bytes of command and blob. An opportunistic container also takes a place
 * in the queue. */
int nm_user_limits_check(const struct nm_manager *m, const struct nm_caller *who, enum nm_execution_type type,
                         uint64_t command_bytes, struct nm_problem *ret_problem);
/* Checks one additional container whose result is kept for its owner. */
int nm_user_limits_check_results(const struct nm_manager *m, struct nm_problem *ret_problem);
/* Checks more_bytes of additional data, kept with an existing container. */
int nm_user_limits_check_bytes(const struct nm_manager *m, uint64_t more_bytes, struct nm_problem *ret_problem);
/* Checks one additional place in the queue, for an existing container. */
int nm_user_limits_check_queue(const struct nm_manager *m, const struct nm_caller *who,
                               struct nm_problem *ret_problem);
