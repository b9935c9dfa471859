/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

#define NM_DIR_SIZE 4096
void nm_files_container_dir(const struct nm_manager *m, const char *id, char buf[NM_DIR_SIZE]);
typedef void (*nm_files_cb_t)(const char *id, void *userdata);
/* Calls cb for each directory whose name can be a container's id. Returns 0 or a negative errno. */
int nm_files_foreach(const struct nm_manager *m, nm_files_cb_t cb, void *userdata);
void nm_files_forget(struct nm_manager *m, const char *id); /* removes directory and logs */
