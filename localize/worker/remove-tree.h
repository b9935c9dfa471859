/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Removes the file or directory tree `name` in the directory. Succeeds if it doesn't exist. Symlinks are removed and
 * not followed. Mount points are not entered (-EXDEV). Directories without write permission for their owner get this
 * permission. Because the user who filled the tree controls its depth and width, memory and descriptors are bounded,
 * but time is not. nmd therefore removes no trees itself.
 */
int nm_remove_tree_at(int dir_fd, const char *name);
/* Removes the tree as nm_remove_tree_at() does, and calls `progress` for each entry. */
int nm_remove_tree_with_progress(int dir_fd, const char *name, void (*progress)(void *userdata), void *userdata);
