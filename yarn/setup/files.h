/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Changes of files by a setup. Paths are relative to the root directory, and no part of one may be a symbolic link
 * (-ELOOP). A change is on the disk when the function returns 0.
 */

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

/* The name, beside the file NAME, that its new text has until it is complete. An interrupted setup leaves it. */
#define NM_SETUP_NEW_NAME ".%s.new"

/* Returns whether the path is below the directory, at any depth. */
static inline bool nm_setup_is_above(const char *dir, const char *path)
{
    const size_t n = strlen(dir);

    return strncmp(dir, path, n) == 0 && path[n] == '/';
}

/* Writes or replaces a file. A reader sees the old text or the new one. The umask doesn't change the mode. */
int nm_setup_write_file(const char *root, const char *path, const char *text, mode_t mode);
int nm_setup_make_dir(const char *root, const char *path, uid_t uid, gid_t gid, mode_t mode);
/* Changes owner and mode of a directory. -ESTALE: they are not old_uid, old_gid and old_mode. */
int nm_setup_change_dir(const char *root, const char *path, uid_t old_uid, gid_t old_gid, mode_t old_mode, uid_t uid,
                        gid_t gid, mode_t mode);
/* Returns whether nm_setup_write_file(), _make_dir() and the removals could work, or with `itself` _change_dir(): 0, or
 * the negative errno that a read-only file system or directory would cause. Where directories of the path don't exist
 * the one above them counts. Changes nothing. */
int nm_setup_check_write(const char *root, const char *path, bool itself);
/* Succeeds if there is no file. */
int nm_setup_remove_file(const char *root, const char *path);
/* Succeeds if there is no directory. -ENOTEMPTY: it isn't empty. */
int nm_setup_remove_dir(const char *root, const char *path);
