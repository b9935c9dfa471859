/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Removes what stands at name in the directory, with all that is in it; nothing there is no error. Symlinks are
 * removed and not followed, mounts are not entered (-EXDEV), directories that their owner may not write are made so.
 * It is deep or wide at the will of whoever filled it: memory and descriptors that this takes are bounded, time
 * isn't.
 */
int nm_remove_tree_at(int dir_fd, const char *name);
/* The same; calls `progress` for each entry that it looks at. */
int nm_remove_tree_telling(int dir_fd, const char *name, void (*progress)(void *userdata), void *userdata);
