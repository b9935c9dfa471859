/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The directories of one container, below the node's local directories and log directories. usercache/SUBMITTER and
 * LOG-DIR/APPLICATION are made in directories of nmd. Everything below these two directories belongs to the user and is
 * made with the user's rights (as-user.h).
 */

#include <sys/types.h>

#include "util/become.h"
#include "yarn/launch/dirs.h"
#include "yarn/launch/script.h"

/* The owner and the purpose of the directories. If nm_yarn_dirs_find_owner() found the owner from a directory, `as`
 * has no supplementary groups. Supplementary groups are not needed, because all files below that directory belong to
 * the owner. */
struct nm_yarn_dirs_owner {
    const char *submitter, *application, *container;
    struct nm_identity as;
};

/* Make the container's directories in a local directory, or in a log directory. has_tmp: this local directory contains
 * the container's working directory, which gets a subdirectory tmp. -EPERM: the directory of the submitter or
 * application belongs to another user. */
int nm_yarn_dirs_make_local(int local_fd, const struct nm_yarn_dirs_owner *o, bool has_tmp);
int nm_yarn_dirs_make_log(int log_fd, const struct nm_yarn_dirs_owner *o);

/* Open a directory of the container as the user, one path component at a time and without following links. */
int nm_yarn_dirs_open_work(int local_fd, const struct nm_yarn_dirs_owner *o);
int nm_yarn_dirs_open_log(int log_fd, const struct nm_yarn_dirs_owner *o);

/* Writes a new file that belongs to the user. If a file with that name exists, removes it first. */
int nm_yarn_dirs_write(int dir_fd, const struct nm_yarn_dirs_owner *o, const char *name, const void *data, size_t size,
                       mode_t mode);

/* Makes links in the directory dir_fd to files in other directories. Each link replaces a file or link of the same
 * name. Makes missing directories in a link's name. *ret_made: the number of links that were made before the first
 * failure. -EINVAL: a name leads out of the directory. */
int nm_yarn_dirs_links(int dir_fd, const struct nm_yarn_dirs_owner *o, const struct nm_yarn_link *links, size_t n,
                       size_t *ret_made);

/* Returns the owner of an application's directories. path: the application's log directory, or the submitter's
 * directory in a local directory. -ENOENT: the directory doesn't exist. */
int nm_yarn_dirs_find_owner(int base_fd, const char *path, uid_t *ret_uid, gid_t *ret_gid);
