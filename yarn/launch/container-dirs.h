/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The directories of one container below the node's. usercache/SUBMITTER and LOG-DIR/APPLICATION stand in directories
 * of nmd's; from there on all is the user's, and done with the user's rights (as-user.h).
 */

#include <sys/types.h>

#include "util/become.h"
#include "yarn/launch/dirs.h"
#include "yarn/launch/script.h"

/* Whose they are, and for what. An owner that was found by a directory (nm_yarn_dirs_owner()) has no supplementary
 * groups: below that directory files are the owner's, and those groups would decide nothing. */
struct nm_yarn_tenant {
    const char *submitter, *application, *container;
    struct nm_identity as;
};

/* The container's directories in one of the local directories, or in one of those for logs. has_tmp: it is that of its
 * working directory. -EPERM: the submitter's, or the application's, is another user's. */
int nm_yarn_dirs_make_local(int local_fd, const struct nm_yarn_tenant *t, bool has_tmp);
int nm_yarn_dirs_make_log(int log_fd, const struct nm_yarn_tenant *t);

/* Opened as the user, step by step and through no link. */
int nm_yarn_dirs_open_work(int local_fd, const struct nm_yarn_tenant *t);
int nm_yarn_dirs_open_log(int log_fd, const struct nm_yarn_tenant *t);

/* A new file in there, of the user's; one of that name is removed first. */
int nm_yarn_dirs_write(int dir_fd, const struct nm_yarn_tenant *t, const char *name, const void *data, size_t size,
                       mode_t mode);

/* Links in there to what is elsewhere, each in the place of whatever file or link has its name, which may have
 * directories in it: they are made. *ret_made: how many there are before the first that fails. -EINVAL: its name leads
 * out of the directory. */
int nm_yarn_dirs_links(int dir_fd, const struct nm_yarn_tenant *t, const struct nm_yarn_link *links, size_t n,
                       size_t *ret_made);

/* Whose the directories of an application are: of its log directory, or of its submitter's in a local one. -ENOENT. */
int nm_yarn_dirs_owner(int base_fd, const char *path, uid_t *ret_uid, gid_t *ret_gid);
