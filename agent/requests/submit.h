/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

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
