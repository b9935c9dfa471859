/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A manager's requirements of its node, and the messages about requirements that the node does not meet. manager.c
 * makes the node meet the requirements; nm_manager_check() (daemon.h) only checks them. */

#include <stdbool.h>

#define NM_READY_NO_SHIM "the shim %s can't be opened: %s; no container can be started until it can be opened"

/* Checks a directory that only nmd uses ("state", "log"). make: creates it if missing. */
int nm_preflight_dir(const char *what, const char *path, bool make, char **ret_message);

/* Checks a script. Returns -EPERM if another user could change the script. warn: a script that can't be run only causes
 * a warning. */
int nm_preflight_script(const char *path, bool warn, char **ret_message);

/* These two functions set the message and return r. */
int nm_preflight_refuse_journal(const char *state_dir, int r, char **ret_message);
int nm_preflight_refuse_figures(const char *proc_root, int r, char **ret_message);
