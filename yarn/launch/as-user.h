/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Work on files with a user's rights: between these two what this thread does to files is what the user could do, and
 * what it makes is the user's. So nothing that the user has put in the way leads further than the user gets alone. An
 * nmd that isn't root can be nobody else, and stays what it is.
 */

#include <sys/types.h>

#include "util/become.h"
#include "util/macros.h"

struct nm_yarn_self {
    gid_t *groups; /* that nmd had */
    int n_groups, dumpable;
    gid_t gid;
    int is_other; /* than nmd's own */
};

int nm_yarn_become(const struct nm_identity *who, struct nm_yarn_self *ret);
/* Takes one of zeroes, too. */
void nm_yarn_return(struct nm_yarn_self *self);
