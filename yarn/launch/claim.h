/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ownership of the contents of a local directory. nmd's state directory has a subdirectory for each local directory
 * that nmd has used, with the list of the resources in the local directory. If this subdirectory is missing, the
 * contents were left by another NodeManager, or by an nmd whose state is lost. The contents are then moved aside and
 * removed, as Hadoop does when it starts without recovery, because new resources get the same names.
 */

#include "localize/localizer.h"
#include "yarn/launch/dirs.h"

/* Returns the local directory's subdirectory of the state directory, which the caller frees. */
int nm_yarn_claim(const char *state_dir, const struct nm_yarn_dir *dir, char **ret);
/* Starts the removal of everything that this nmd or an earlier one has moved aside in these directories. */
void nm_yarn_claim_sweep(struct nm_localizer *l, const struct nm_yarn_dirs *dirs);
