/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The settings for this node, the checks before the start, and the disk space of logs. Functions return 0 or -errno. On
 * failure, *ret_message is a sentence with the reason, which the caller frees.
 */

#include "agent/state/manager-state.h"

/* ---- manager-settings.c ---------------------------------------------------------------------- */

/* Copies the path of the configuration file from p. Returns NULL if out of memory. */
struct nm_settings_basis *nm_settings_basis_new(const struct nm_manager_params *p);
struct nm_settings_basis *nm_settings_basis_free(struct nm_settings_basis *b);
/* Computes the settings from c. On success, takes ownership of c. On failure, leaves the settings unchanged. */
int nm_settings_resettle(struct nm_manager *m, struct nm_config *c, char **ret_message);
/* Converts the container's vcores into millicores again. The size of a vcore depends on [node] vcores and on the number
 * of CPUs, and both may change while nmd runs or while nmd is stopped. Returns whether the container's request
 * changed. */
bool nm_settings_scale(const struct nm_manager *m, struct nm_container *c);
/* Writes to buf the keys that were reloaded with a new value but require a restart, in the format of
 * nm_config_needs_restart(). */
void nm_settings_restart_keys(const struct nm_manager *m, char *buf, size_t size);
/* Adapts the settings to the node's size in the newest sample. CPUs may be added and removed while nmd runs, and so may
 * memory (balloons, pools of huge pages). */
void nm_settings_follow_node(struct nm_manager *m);

/*
 * ---- preflight.c -----------------------------------------------------------------------------
 *
 * The requirements that a node must meet before nmd starts, and the error messages for a node that does not meet them.
 * manager.c creates what is missing. nm_manager_check() (daemon.h) only checks the requirements.
 */

#define NM_READY_NO_SHIM "the shim %s can't be opened: %s; no container can be started until it can be opened"

/* Checks a directory that only nmd uses. what: "state" or "log", for the message. make: creates a missing directory. */
int nm_preflight_dir(const char *what, const char *path, bool make, char **ret_message);

/* Checks a script. Returns -EPERM if another user could change the script. warn: logs a warning if the script can't be
 * run. A script that can't be run is never an error. */
int nm_preflight_script(const char *path, bool warn, char **ret_message);

/* These two functions set *ret_message and return r. */
int nm_preflight_refuse_journal(const char *state_dir, int r, char **ret_message);
int nm_preflight_refuse_figures(const char *proc_root, int r, char **ret_message);

/* ---- output-share.c: the disk share of all logs ---------------------------------------------- */

/* Returns the limit in bytes for each log (stdout, stderr) of a container that starts now. If the share of all logs is
 * used up, truncates the logs of ended containers. */
uint64_t nm_output_allowance(struct nm_manager *m);
/* Measures the disk space of an ended container's log, and stores the size in c. */
void nm_output_ended(struct nm_manager *m, struct nm_container *c);
/* Truncates logs of ended containers if all logs exceed their share or the disk is nearly full. Is called
 * periodically. */
void nm_output_truncate_logs(struct nm_manager *m);
/* Keeps the shim's pipes open, so that the latest output reaches the log. Must be called before the container's
 * processes are killed. */
void nm_output_read_last(struct nm_live_container *l);
