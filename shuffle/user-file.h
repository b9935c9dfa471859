/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files in the node's local directories that belong to the users of containers. Users control the names below the local
 * directory, and could otherwise make this process read the files of others, because it has the capability to read all
 * files. Links are not followed, and a file that the user does not own is refused (as in Hadoop's SecureIOUtils).
 */

#include <sys/stat.h>
#include <sys/types.h>

/* Opens a local directory again for each request: a disk may be mounted, repaired or replaced while the process runs,
 * and an open descriptor would prevent its unmounting. Returns the descriptor, which only reaches other files, or
 * -errno. */
int nm_shuffle_open_local(const char *name);
/* Opens a directory beneath another one without following links. The descriptor only reaches other files. Returns
 * -ENOENT if the path exists, but is not a directory. */
int nm_shuffle_open_beneath(int dir, const char *path, int *ret_fd);

/* Returns 0, or -EPERM if it is not a regular file of this user. The owner is checked because a hard link to another
 * user's file looks like the file itself. */
int nm_shuffle_check_file(uid_t uid, const struct stat *st);
/* Opens a file of this user for reading, without following a link, and checks it. */
int nm_shuffle_open_file(int dir, uid_t uid, const char *name, struct stat *ret_st, int *ret_fd);
/* Does the same with a file beneath the directory. Returns -ENOENT if a part of its path is not a directory. */
int nm_shuffle_open_file_beneath(int dir, uid_t uid, const char *path, struct stat *ret_st, int *ret_fd);
