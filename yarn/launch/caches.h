/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The stores of resources. Each local directory has its own localizer with its own list of the resources in it. One
 * directory in good state, the current one, receives new resources. This directory stays current while it is good, so
 * that a resource is fetched only once. If it fails, another good directory becomes current. Resources in use stay
 * where they are. Unused resources are removed from directories that are not current, which can make a full disk usable
 * again.
 */

#include "localize/localizer.h"
#include "yarn/launch/dirs.h"

struct nm_yarn_caches {
    struct nm_localizer_params params; /* parameters of all localizers, without the directories */
    const char *state_dir;             /* nmd's state directory */
    struct nm_yarn_dirs *dirs;
    struct nm_localizer **all; /* in the order of the directories; NULL: this localizer is not open yet */
    struct nm_localizer *now;  /* the current localizer; NULL: no directory has been good yet */
    bool tidies;
};

/* Opens the localizers. Ignores local_dir and state_dir of params; settings and the string boot_id must outlive `c`.
 * Directories that can't be used now are tried again later. Returns 0, or the reason why no directory can be used, with
 * *ret_message. */
int nm_yarn_caches_open(struct nm_yarn_caches *c, const struct nm_localizer_params *params, const char *state_dir,
                        struct nm_yarn_dirs *dirs, char **ret_message);
/* Closes the localizers. All asks must have been freed. */
void nm_yarn_caches_done(struct nm_yarn_caches *c);

/* Checks the directories if a check is due, opens the localizers that could not be opened before, and chooses another
 * current localizer if the directory of the current one isn't good. */
void nm_yarn_caches_check(struct nm_yarn_caches *c);
/* Returns the localizer for a container. If is_running, this is the localizer that has most of these resources, because
 * the container's links lead there. Otherwise it is the current localizer, unless its directory lacks room for the
 * missing resources and another good directory has enough. NULL: no directory is good. */
struct nm_localizer *nm_yarn_caches_choose(const struct nm_yarn_caches *c, const struct nm_localizer_user *user,
                                           const struct nm_localizer_resource *resources, size_t n, bool is_running);
/* Returns the good localizer whose directory has most room, other than `full`. A fetch that failed in `full` for lack
 * of room counts for more than the free space there, since a quota or missing inodes may be the cause. tried: an array
 * as long as the list of directories, all false at first, so that each localizer is returned only once. NULL: all good
 * ones were returned. */
struct nm_localizer *nm_yarn_caches_roomier(const struct nm_yarn_caches *c, const struct nm_localizer *full,
                                            bool *tried);
/* Returns whether the directory of this localizer is good. */
bool nm_yarn_caches_is_good(const struct nm_yarn_caches *c, const struct nm_localizer *l);
/* Returns the name of the current directory, or "". */
const char *nm_yarn_caches_dir(const struct nm_yarn_caches *c);
/* Returns a localizer that can remove files, in any directory. */
struct nm_localizer *nm_yarn_caches_any(const struct nm_yarn_caches *c);

void nm_yarn_caches_tidy(struct nm_yarn_caches *c);
void nm_yarn_caches_end_application(struct nm_yarn_caches *c, const char *submitter, const char *application);

/* ---- ownership of a local directory ------------------------------------------------------- */

/*
 * Ownership of the contents of a local directory. nmd's state directory has a subdirectory for each local directory
 * that nmd has used, with the list of the resources in the local directory. If this subdirectory is missing, the
 * contents were left by another NodeManager, or by an nmd whose state is lost. The contents are then moved aside and
 * removed, as Hadoop does when it starts without recovery, because new resources get the same names.
 */

/* Returns the local directory's subdirectory of the state directory, which the caller frees. */
int nm_yarn_claim(const char *state_dir, const struct nm_yarn_dir *dir, char **ret);
/* Starts the removal of everything that this nmd or an earlier one has moved aside in these directories. */
void nm_yarn_claim_sweep(struct nm_localizer *l, const struct nm_yarn_dirs *dirs);
