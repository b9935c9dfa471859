/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Changes of files by a setup. Paths are relative to the root directory, and no part of a path may be a symbolic link
 * (-ELOOP). A change is on the disk when the function returns 0.
 */

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

/* The name, beside the file NAME, of a file with NAME's new text until this text is complete. An interrupted setup
 * leaves the file. */
#define NM_SETUP_NEW_NAME ".%s.new"

/* Returns whether the path is below the directory, at any depth. */
static inline bool nm_setup_is_above(const char *dir, const char *path)
{
    const size_t n = strlen(dir);

    return strncmp(dir, path, n) == 0 && path[n] == '/';
}

/* Writes or replaces a file. A reader sees the old text or the new text. The umask doesn't change the mode. */
int nm_setup_write_file(const char *root, const char *path, const char *text, mode_t mode);
int nm_setup_make_dir(const char *root, const char *path, uid_t uid, gid_t gid, mode_t mode);
/* Changes owner and mode of a directory. -ESTALE: owner and mode differ from old_uid, old_gid and old_mode. */
int nm_setup_change_dir(const char *root, const char *path, uid_t old_uid, gid_t old_gid, mode_t old_mode, uid_t uid,
                        gid_t gid, mode_t mode);
/* Returns whether nm_setup_write_file(), _make_dir() and the removals could work, or with `itself` _change_dir(): 0, or
 * the negative errno that a read-only file system or directory would cause. If directories of the path are missing, the
 * nearest existing directory above them counts. Leaves files and directories unchanged. */
int nm_setup_check_write(const char *root, const char *path, bool itself);
/* Removes a file. Succeeds if the file doesn't exist. */
int nm_setup_remove_file(const char *root, const char *path);
/* Removes a directory. Succeeds if the directory doesn't exist. -ENOTEMPTY: the directory isn't empty. */
int nm_setup_remove_dir(const char *root, const char *path);
