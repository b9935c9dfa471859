/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whose a local directory's content is. nmd's state directory has a directory for each local one that it has used, with
 * what is known of the resources in it. Where there is none, what stands in the local directory is another
 * NodeManager's, or of an nmd whose state is gone: it is set aside and removed, as Hadoop's does when it starts without
 * recovery, for new resources get the same names.
 */

#include "localize/localizer.h"
#include "yarn/launch/dirs.h"

/* The state's directory for it, which the caller frees. */
int nm_yarn_claim(const char *state_dir, const struct nm_yarn_dir *dir, char **ret);
/* Has all that was set aside in these removed, now or by an earlier nmd. */
void nm_yarn_claim_sweep(struct nm_localizer *l, const struct nm_yarn_dirs *dirs);
