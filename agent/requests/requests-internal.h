/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions that only the files of this room use. Those that fill in *p or *ret_problem return 0, or the outcome of the
 * refusal.
 */

#include "agent/requests/requests.h"

/*
 * ---- user-limits.c ---------------------------------------------------------------------------
 *
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

/* ---- access.c -------------------------------------------------------------------------------- */

/* Finds a container by id, by number or by name. A name selects the only live container of that name, or else the
 * newest ended container of that name. The functions below return 0, or an outcome with its problem. */
int nm_access_find(struct nm_manager *m, const struct nm_caller *who, const char *ref, struct nm_container **ret,
                   struct nm_problem *p);
/* Finds a container that can be changed. A container that has ended or is being killed is refused, with its state in
 * the message. */
int nm_access_find_live(struct nm_manager *m, const struct nm_caller *who, const char *id,
                        struct nm_live_container **ret,
                        struct nm_problem *p);
int nm_access_want_admin(const struct nm_caller *who, const char *thing, struct nm_problem *p);

/* ---- submit.c: checks that other requests share ---------------------------------------------- */

uint64_t nm_submit_millicores(const struct nm_manager *m, uint32_t vcores_milli);
int nm_submit_check_memory(uint64_t bytes, struct nm_problem *p);
/* *ret_bytes: memory that the command and environment take. */
int nm_submit_check_command(const char *const *argv, const char *const *env, uint64_t *ret_bytes,
                            struct nm_problem *p);
/* Checks the two directories that a request names; a directory that the request doesn't name is NULL. */
int nm_submit_check_dirs(const char *workdir, const char *log_dir, struct nm_problem *p);
int nm_submit_check_blob(const struct nm_blob *blob, struct nm_problem *p);
/* Sets *p to the policy's refusal of a request, and returns the outcome. `self`: the container that the policy left out
 * of its sums, or NULL. `instead`: a sentence that says what to do instead; NULL: the advice for a new request. */
int nm_submit_refuse(struct nm_manager *m, enum nm_reason reason, const struct nm_resources *request,
                     const struct nm_policy_container *self, const char *instead, struct nm_problem *p);

/* ---- change.c and rerun.c: parts of owner-requests.c ----------------------------------------- */

/* Implements nm_manager_change() for a container whose owner was checked. */
int nm_change_owned(struct nm_live_container *l, const struct nm_change *c, struct nm_problem *ret_problem);
/* Implements nm_manager_move() for a container whose owner was checked. */
int nm_change_place(struct nm_live_container *l, const struct nm_move *move, struct nm_problem *ret_problem);
/* Implements nm_manager_rerun() for a container whose owner was checked. */
int nm_rerun_owned(struct nm_live_container *l, const struct nm_rerun *rerun, struct nm_problem *ret_problem);
