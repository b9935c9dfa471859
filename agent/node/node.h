/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The node as the manager configures and checks it: settings, requirements for the start, and the disk space of logs.
 * Functions return 0 or -errno. The caller frees *ret_message, which says in a sentence why a function failed.
 */

#include "agent/state/manager-state.h"

/* ---- manager-settings.c ---------------------------------------------------------------------- */

/* Computes the settings from c. On success takes ownership of c; on failure leaves the settings unchanged. */
int nm_settings_resettle(struct nm_manager *m, struct nm_config *c, char **ret_message);
/* Converts the container's vcores into shares of this node's CPUs again, since the size of a vcore changes with [node]
 * vcores and with the number of CPUs. Both may change while nmd runs or between two runs. Returns whether the
 * container's figures changed. */
bool nm_settings_scale(const struct nm_manager *m, struct nm_container *c);
/* Writes the reloaded keys whose new values only a restart applies, as nm_config_needs_restart() lists them. */
void nm_settings_restart_keys(const struct nm_manager *m, char *buf, size_t size);
/* Adapts the settings after a sample: CPUs are added and removed at run time, and so is memory (balloons, pools of huge
 * pages). */
void nm_settings_follow_node(struct nm_manager *m);

/*
 * ---- preflight.c -----------------------------------------------------------------------------
 *
 * A manager's requirements of its node, and the messages about requirements that the node does not meet. manager.c
 * makes the node meet the requirements; nm_manager_check() (daemon.h) only checks them.
 */

#define NM_READY_NO_SHIM "the shim %s can't be opened: %s; no container can be started until it can be opened"

/* Checks a directory that only nmd uses ("state", "log"). make: creates it if missing. */
int nm_preflight_dir(const char *what, const char *path, bool make, char **ret_message);

/* Checks a script. Returns -EPERM if another user could change the script. warn: a script that can't be run only causes
 * a warning. */
int nm_preflight_script(const char *path, bool warn, char **ret_message);

/* These two functions set the message and return r. */
int nm_preflight_refuse_journal(const char *state_dir, int r, char **ret_message);
int nm_preflight_refuse_figures(const char *proc_root, int r, char **ret_message);

/* ---- output-share.c: the disk share of all logs ---------------------------------------------- */

/* Returns how many bytes per stream (stdout, stderr) a starting container may keep on disk. If space is short,
 * truncates the logs of ended containers. */
uint64_t nm_output_allowance(struct nm_manager *m);
/* Measures how much disk space the log of an ended container takes. */
void nm_output_ended(struct nm_manager *m, struct nm_container *c);
/* Checks periodically that all logs are within their share and that the journal has space. */
void nm_output_tidy(struct nm_manager *m);
/* Reads the latest output into the log before the container's processes are killed. */
void nm_output_keep_last(struct nm_live_container *l);
