/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where resources are kept: each local directory has a localizer of its own, with its own memory of what is there, and
 * one of the good ones gets what is new. It stays the one for as long as its directory is good, so that a resource is
 * fetched once; then another good one takes its place. What containers use stays where it is, and what nobody uses
 * leaves a directory that is not the one, which can make a full disk good again.
 */

#include "localize/localizer.h"
#include "yarn/launch/dirs.h"

struct nm_yarn_caches {
    struct nm_localizer_params params; /* of all, but for the directories */
    const char *state_dir;             /* nmd's */
    struct nm_yarn_dirs *dirs;
    struct nm_localizer **all; /* as the directories; NULL: that one could not be made nmd's yet */
    struct nm_localizer *now;  /* that gets what is new; NULL: there was none good yet */
    bool tidies;
};

/* params: local_dir and state_dir are not looked at, settings and what boot_id points to must last as long as `c`.
 * Directories that can't be used now are tried again. 0, or why none can, with *ret_message. */
int nm_yarn_caches_open(struct nm_yarn_caches *c, const struct nm_localizer_params *params, const char *state_dir,
                        struct nm_yarn_dirs *dirs, char **ret_message);
/* All asks have been freed. */
void nm_yarn_caches_done(struct nm_yarn_caches *c);

/* Looks at the directories if it is time, makes those nmd's that weren't, and chooses anew if the one isn't good. */
void nm_yarn_caches_check(struct nm_yarn_caches *c);
/* The one that has most of these resources if `is_running`, for a container's links lead there; else the one that gets
 * what is new, unless there is no room for what it doesn't have, and another good one has that. NULL: none is good. */
struct nm_localizer *nm_yarn_caches_choose(const struct nm_yarn_caches *c, const struct nm_localizer_user *user,
                                           const struct nm_localizer_resource *resources, size_t n, bool is_running);
/* The good one whose directory has most room, other than `full`: that a fetch has failed there for want of room counts
 * for more than what is free there (a quota, inodes). NULL: there is none. tried: as many as there are directories,
 * false at first: each of them is returned once. */
struct nm_localizer *nm_yarn_caches_roomier(const struct nm_yarn_caches *c, const struct nm_localizer *full,
                                            bool *tried);
/* Returns whether the directory of this localizer is good. */
bool nm_yarn_caches_is_good(const struct nm_yarn_caches *c, const struct nm_localizer *l);
/* The name of the directory that gets what is new; "" where there is none. */
const char *nm_yarn_caches_dir(const struct nm_yarn_caches *c);
/* One that can remove files, wherever they are. */
struct nm_localizer *nm_yarn_caches_any(const struct nm_yarn_caches *c);

void nm_yarn_caches_tidy(struct nm_yarn_caches *c);
void nm_yarn_caches_end_application(struct nm_yarn_caches *c, const char *submitter, const char *application);
