/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The changes of files and directories that a setup makes. Paths are relative to the root directory. No component of a
 * path may be a symbolic link (-ELOOP). When a function returns 0, its change has been synced to the disk.
 */

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

/* Name of the temporary file for the new text of the file NAME, in the same directory. The complete file is then
 * renamed to NAME. An interrupted setup leaves the temporary file. */
#define NM_SETUP_NEW_NAME ".%s.new"

/* Returns whether the path is below the directory, in it or in any of its subdirectories. */
static inline bool nm_setup_is_above(const char *dir, const char *path)
{
    const size_t n = strlen(dir);

    return strncmp(dir, path, n) == 0 && path[n] == '/';
}

/* Writes or replaces a file. A reader gets either the old or the new text. The mode doesn't depend on the umask. */
int nm_setup_write_file(const char *root, const char *path, const char *text, mode_t mode);
int nm_setup_make_dir(const char *root, const char *path, uid_t uid, gid_t gid, mode_t mode);
/* Changes owner and mode of a directory. -ESTALE: its owner or mode differs from old_uid, old_gid and old_mode. */
int nm_setup_change_dir(const char *root, const char *path, uid_t old_uid, gid_t old_gid, mode_t old_mode, uid_t uid,
                        gid_t gid, mode_t mode);
/* Returns whether a change of this path could work: 0, or the negative errno that a read-only file system or directory
 * would cause. If `itself` is false, the change is made by nm_setup_write_file(), _make_dir() or a removal. If it is
 * true, the change is made by _change_dir(). If directories of the path are missing, the nearest existing directory is
 * checked. Makes no changes. */
int nm_setup_check_write(const char *root, const char *path, bool itself);
/* Removes a file. Succeeds if the file doesn't exist. */
int nm_setup_remove_file(const char *root, const char *path);
/* Removes a directory. Succeeds if the directory doesn't exist. -ENOTEMPTY: the directory isn't empty. */
int nm_setup_remove_dir(const char *root, const char *path);
