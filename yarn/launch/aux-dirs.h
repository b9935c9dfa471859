/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The directories and the account of the process for auxiliary services that are written in Java. The process can't
 * enter nmd's state directory, so its own directory is beside it, with the suffix "-aux":
 *
 *   local/N    stands for the N-th local directory of the node. The process may write here, as services expect, and
 *              the link usercache leads to that of the local directory.
 *   recovery   what the services keep across a restart
 *   log, tmp   log files; temporary files
 */

#include "util/become.h"
#include "util/error.h"
#include "yarn/conf/settings.h"

struct nm_yarn_aux_dirs {
    char *path; /* absolute */
    bool changes_user; /* nmd is root, and the process runs as `as` */
    struct nm_identity as;
};

/* Finds the account. *ret_changes: nmd is root, and the process runs as this account. -ENOENT and *ret_message: the
 * account doesn't exist. */
int nm_yarn_aux_find_account(struct nm_identity *ret, bool *ret_changes, char **ret_message);

/* Returns the number of directories local/N. */
unsigned nm_yarn_aux_dirs_count(const struct nm_yarn_settings *s);

/* Makes the directories. state_dir must exist. */
int nm_yarn_aux_dirs_make(const struct nm_yarn_settings *s, const char *state_dir, struct nm_yarn_aux_dirs *ret,
                          char **ret_message);
void nm_yarn_aux_dirs_done(struct nm_yarn_aux_dirs *d);
