/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a setup does to files. Paths are inside of the root directory; no part of one may be a symbolic link below it
 * (-ELOOP). All is on the disk when it returns 0.
 */

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

/* Is the path somewhere below the directory? */
static inline bool nm_setup_is_above(const char *dir, const char *path)
{
    const size_t n = strlen(dir);

    return strncmp(dir, path, n) == 0 && path[n] == '/';
}

/* A reader sees the old text or the new one. Mode: as it will be, whatever the mask is. */
int nm_setup_write_file(const char *root, const char *path, const char *text, mode_t mode);
int nm_setup_make_dir(const char *root, const char *path, uid_t uid, gid_t gid, mode_t mode);
/* Of a directory that is as the first three say; else -ESTALE. */
int nm_setup_change_dir(const char *root, const char *path, uid_t old_uid, gid_t old_gid, mode_t old_mode, uid_t uid,
                        gid_t gid, mode_t mode);
/* None there is no error. */
int nm_setup_remove_file(const char *root, const char *path);
/* -ENOTEMPTY. None there is no error. */
int nm_setup_remove_dir(const char *root, const char *path);
