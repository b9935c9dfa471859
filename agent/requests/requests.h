/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of this room that other rooms use. agent.h, owners.h and status.h declare the requests of users and
 * owners themselves.
 */

#include "agent/state/manager-state.h"

/* Returns whether the caller may see and change the container: only its submitter and administrators may. who NULL: nmd
 * itself. */
bool nm_access_may_touch(const struct nm_caller *who, const struct nm_container *c);

/* Sets the deadline of a drain and its timer. On failure the previous deadline stays. UINT64_MAX: no deadline. */
int nm_drain_arm(struct nm_manager *m, uint64_t deadline_usec);
/* Ends the containers that a drain does not wait for. Also called after a restart, because the earlier nmd may have
 * died in the middle of this work. */
void nm_drain_carry_out(struct nm_manager *m, const struct nm_caller *who);

/* All sessions (nmctl exec). */
struct nm_sessions *nm_sessions_new(void); /* NULL: out of memory */
/* Called when nmd ends. Commands that have started keep running. */
struct nm_sessions *nm_sessions_free(struct nm_sessions *all);
unsigned nm_sessions_count(const struct nm_sessions *all);
