/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * File access with a user's rights. Between nm_yarn_become() and nm_yarn_return(), file operations of this thread have
 * the user's rights, and new files belong to the user. So links or files that the user has made can't lead nmd to files
 * that the user couldn't access. An nmd that isn't root can't change its user. It then keeps its own rights.
 */

#include <sys/types.h>

#include "util/become.h"
#include "util/macros.h"

struct nm_yarn_saved_identity {
    gid_t *groups; /* nmd's own supplementary groups */
    int n_groups, dumpable;
    gid_t gid;
    int is_other; /* the user differs from nmd's own user */
};

int nm_yarn_become(const struct nm_identity *who, struct nm_yarn_saved_identity *ret);
/* Restores nmd's own rights. A zeroed struct is allowed. */
void nm_yarn_return(struct nm_yarn_saved_identity *saved);
