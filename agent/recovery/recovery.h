/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Adopts the containers of an earlier nmd when nmd starts. */

#include "agent/state/manager-state.h"

/* ---- recovery.c ------------------------------------------------------------------------------ */

/* Returns 0 or -errno. If the cgroups can't be listed, *ret_message has the reason. The caller frees *ret_message. */
int nm_recovery_run(struct nm_manager *m, char **ret_message);
void nm_recovery_check_orphans(struct nm_manager *m); /* removes vanished orphans from the list */

/*
 * ---- recovery-decide.c -----------------------------------------------------------------------
 *
 * These functions handle the newest decision about a container. If an earlier nmd died, this decision may have no
 * outcome yet. Only recovery.c and the tests call them.
 */

void nm_recovery_reopen_decision(struct nm_live_container *l); /* call it after the container's state was determined */
void nm_recovery_close_decision(struct nm_manager *m, const char *id, const char *why);

/* ---- recovery-limits.c ----------------------------------------------------------------------- */

/* Restores the limits of all adopted containers (nm_limits_restore()) in later turns of the event loop. */
void nm_recovery_restore_limits(struct nm_manager *m);
