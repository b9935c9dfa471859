/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a manager wants of its node before it begins, and the sentences for where it isn't so: manager.c makes it ready,
 * nm_manager_check() (agent.h) only looks. */

#include <stdbool.h>

#define NM_READY_NO_SHIM "the shim %s can't be opened: %s; nothing can be started until it is there"

/* A directory that is nmd's alone ("state", "log"); `make`: it is made if it isn't there. */
int nm_preflight_dir(const char *what, const char *path, bool make, char **ret_message);

/* -EPERM: others could change what nmd would run. `warn`: of one that can't be run, without which the node does. */
int nm_preflight_script(const char *path, bool warn, char **ret_message);

/* Return r. */
int nm_preflight_refuse_journal(const char *state_dir, int r, char **ret_message);
int nm_preflight_refuse_figures(const char *proc_root, int r, char **ret_message);
