/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of agent/requests that other folders of agent/ use. The requests of users and owners are declared in
 * agent.h, owners.h and status.h.
 */

#include "agent/state/manager-state.h"

/* Returns whether the caller may see and change the container. Only its submitter, administrators and nmd itself (who =
 * NULL) may. */
bool nm_access_may_touch(const struct nm_caller *who, const struct nm_container *c);

/* Sets the deadline of a drain and its timer. UINT64_MAX: no deadline. On failure, the previous deadline is
 * unchanged. */
int nm_drain_arm(struct nm_manager *m, uint64_t deadline_usec);
/* Ends the containers that may not finish during a drain: queued containers, and opportunistic containers if the drain
 * was requested with kill_opportunistic. Is also called after a restart, because the earlier nmd may have died before
 * it ended all of them. */
void nm_drain_carry_out(struct nm_manager *m, const struct nm_caller *who);

/* All sessions (nmctl exec). */
struct nm_sessions *nm_sessions_new(void); /* NULL: out of memory */
/* Is called when nmd exits. Commands that have started keep running. */
struct nm_sessions *nm_sessions_free(struct nm_sessions *all);
unsigned nm_sessions_count(const struct nm_sessions *all);

/* The upstream that status.c shows. */
struct nm_registered_upstream *nm_registered_upstream_new(void); /* NULL: out of memory */
struct nm_registered_upstream *nm_registered_upstream_free(struct nm_registered_upstream *u);
