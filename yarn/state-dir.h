/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A directory of nmd's state directory, with a file for each thing that must outlive nmd. The files are root's alone,
 * and aren't synced: with a host that crashes all that they are about is gone, too.
 */

#include "rpc/hadoop/bytes.h"

/* Makes it where it isn't there. *ret: a descriptor, the caller's to close. */
int nm_yarn_state_dir_open(const char *state_dir, const char *name, int *ret);

/* In the place of what is there of that name; a reader sees the one or the other. */
int nm_yarn_state_dir_put(int dir_fd, const char *name, struct nm_bytes content);
/* What isn't there needn't be removed. */
void nm_yarn_state_dir_drop(int dir_fd, const char *name);

/* All that there are, of at most max bytes; what is larger is removed. False: it is no such thing, and is removed. */
typedef bool (*nm_yarn_note_cb_t)(const char *name, struct nm_bytes content, void *userdata);
int nm_yarn_state_dir_read(int dir_fd, size_t max, nm_yarn_note_cb_t cb, void *userdata);
