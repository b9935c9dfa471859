/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A subdirectory of nmd's state directory, with a file for each item that must survive a restart of nmd. Only root can
 * read the files. The files aren't synced, since everything that they describe is lost in a crash of the host.
 */

#include "rpc/hadoop/bytes.h"

/* Opens the directory, and makes it if necessary. *ret: a descriptor, which the caller closes. */
int nm_yarn_state_dir_open(const char *state_dir, const char *name, int *ret);

/* Writes a file, or replaces an existing file of that name. A reader sees either the old or the new contents. */
int nm_yarn_state_dir_put(int dir_fd, const char *name, struct nm_bytes content);
/* Removes a file. Succeeds if the file doesn't exist. */
void nm_yarn_state_dir_drop(int dir_fd, const char *name);

/* Calls cb for each file of at most max bytes. Larger files are removed. If cb returns false, the file is invalid and
 * is removed. */
typedef bool (*nm_yarn_state_file_cb_t)(const char *name, struct nm_bytes content, void *userdata);
int nm_yarn_state_dir_read(int dir_fd, size_t max, nm_yarn_state_file_cb_t cb, void *userdata);
