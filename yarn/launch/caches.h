/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The stores of resources. Each local directory has its own localizer, with a list of the resources in that directory.
 * New resources go to one good directory, the current directory. It stays current while it is good, so that each
 * resource is fetched only once. If the current directory fails, another good directory becomes current. Resources in
 * use stay in their directory. Unused resources are removed from directories that are not current, which can make a
 * full disk usable again.
 */

#include "localize/localizer.h"
#include "yarn/launch/dirs.h"

struct nm_yarn_caches {
    struct nm_localizer_params params; /* parameters of all localizers, except the directories */
    const char *state_dir;             /* nmd's state directory */
    struct nm_yarn_dirs *dirs;
    struct nm_localizer **all; /* localizers in the order of the directories; NULL: the localizer is not open yet */
    struct nm_localizer *now;  /* the current localizer; NULL: no directory has been good yet */
    struct nm_yarn_former_cache *former; /* localizers of directories whose disk was replaced */
    bool has_new; /* a localizer was opened since the caller set this to false */
};

/* Opens the localizers. Ignores local_dir and state_dir of params. settings and the string boot_id must outlive `c`. A
 * directory that can't be used now is tried again later. Returns 0. If no directory can be used, returns the reason as
 * -errno, with *ret_message. */
int nm_yarn_caches_open(struct nm_yarn_caches *c, const struct nm_localizer_params *params, const char *state_dir,
                        struct nm_yarn_dirs *dirs, char **ret_message);
/* Closes the localizers. All requests must have been freed. */
void nm_yarn_caches_done(struct nm_yarn_caches *c);

/* If a check is due, checks the directories, and opens localizers that could not be opened before. If the directory of
 * the current localizer isn't good, chooses another current localizer. */
void nm_yarn_caches_check(struct nm_yarn_caches *c);
/* Returns the localizer for new resources of a container: the current localizer, or a localizer with enough room if the
 * directory of the current localizer lacks room for the missing resources. NULL: no directory is good. */
struct nm_localizer *nm_yarn_caches_choose(const struct nm_yarn_caches *c, const struct nm_localizer_user *user,
                                           const struct nm_localizer_resource *resources, size_t n);
/* Returns the good localizer whose directory has the most room, except `full`, a localizer in which a fetch failed for
 * lack of room. The free space of `full` is not considered, since a quota or missing inodes may have caused the
 * failure. tried: an array with an element for each directory, all false at first, so that each localizer is returned
 * only once. NULL: all good localizers were returned. */
struct nm_localizer *nm_yarn_caches_with_more_room(const struct nm_yarn_caches *c, const struct nm_localizer *full,
                                                   bool *tried);
/* Returns whether the directory of this localizer is good. */
bool nm_yarn_caches_is_good(const struct nm_yarn_caches *c, const struct nm_localizer *l);
/* Returns the name of the current directory, or "". */
const char *nm_yarn_caches_dir(const struct nm_yarn_caches *c);
/* Returns any localizer that can remove files. It can remove files in all directories. */
struct nm_localizer *nm_yarn_caches_any(const struct nm_yarn_caches *c);

/* Allows removals in all open localizers. Must be called when the resources of adopted containers are retained in all
 * of them (retention.h). */
void nm_yarn_caches_allow_removals(struct nm_yarn_caches *c);
void nm_yarn_caches_end_application(struct nm_yarn_caches *c, const char *submitter, const char *application);

/* ---- ownership of a local directory ------------------------------------------------------- */

/*
 * Ownership of the contents of a local directory. For each local directory that nmd has used, nmd's state directory has
 * a subdirectory with the list of the resources in that local directory. If this subdirectory is missing, the contents
 * come from another NodeManager, or from an nmd whose state is lost. The contents are then moved aside and removed,
 * because new resources get the same names. Hadoop does the same when it starts without recovery.
 */

/* Returns the subdirectory of the state directory that belongs to the local directory. The caller frees it. */
int nm_yarn_claim(const char *state_dir, const struct nm_yarn_dir *dir, char **ret);
/* Starts the removal of all contents that this nmd or an earlier nmd has moved aside in these directories. */
void nm_yarn_claim_sweep(struct nm_localizer *l, const struct nm_yarn_dirs *dirs);
