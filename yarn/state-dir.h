/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A subdirectory of nmd's state directory, with one file for each item that must survive a restart of nmd. Only root
 * can read the files. The files aren't synced to the disk, since after a crash of the host the containers and
 * applications that they describe no longer exist.
 */

#include "rpc/hadoop/bytes.h"

/* Opens the directory, and creates it if necessary. *ret: a descriptor, which the caller closes. */
int nm_yarn_state_dir_open(const char *state_dir, const char *name, int *ret);

/* Writes a file, or replaces an existing file of that name. A reader sees either the old or the new contents. */
int nm_yarn_state_dir_put(int dir_fd, const char *name, struct nm_bytes content);
/* Removes a file. Succeeds if the file doesn't exist. */
void nm_yarn_state_dir_drop(int dir_fd, const char *name);

/* Calls cb for each file of at most max bytes, and removes larger files. If cb returns false, the file is invalid and
 * is removed. */
typedef bool (*nm_yarn_state_file_cb_t)(const char *name, struct nm_bytes content, void *userdata);
int nm_yarn_state_dir_read(int dir_fd, size_t max, nm_yarn_state_file_cb_t cb, void *userdata);
