/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reverts a setup. Only changes of the setup are reverted. A file that was changed after the setup is kept, and so is a
 * directory that isn't empty or has another owner. The undo reports them and keeps their entries in the manifest, so
 * that a later undo can revert them.
 */

#include "yarn/setup/facts.h"

enum nm_setup_undo_act {
    NM_SETUP_REMOVE,
    NM_SETUP_RESTORE, /* restore the directory's former owner and mode */
    NM_SETUP_GONE,    /* the change of the path has already been reverted */
    NM_SETUP_STAY,
};

struct nm_setup_undo_step {
    enum nm_setup_undo_act act;
    const struct nm_setup_entry *entry;
    const struct nm_setup_path *spot;
    const char *why; /* why the path is kept, or which files remain in a restored directory; otherwise NULL */
};

/* The current state of the path of one entry. */
struct nm_setup_remaining {
    struct nm_setup_path spot;
    /* For a directory that the setup has made: names of its contents. For a changed directory: names of the contents
     * that belong to this user. NULL-terminated; incomplete if there are many. */
    const char **names;
    bool has_new; /* for a file: its temporary file NM_SETUP_NEW_NAME exists */
};

struct nm_setup_undo {
    struct nm_setup_undo_step *steps; /* the steps in the order of execution */
    size_t n;
    struct nm_setup_manifest kept; /* the entries that are kept; if there are none, the manifest is removed */
};

/* Plans the undo. The code is pure. left: the state of the path of each entry of the manifest. The manifest itself
 * (manifest_path) is removed or rewritten after all other files. */
int nm_setup_undo_plan(const struct nm_setup_manifest *m, const struct nm_setup_remaining *left, uid_t uid, gid_t gid,
                       const char *manifest_path, struct nm_arena *a, struct nm_setup_undo *ret);

/* Examines the path of each entry. -errno and *ret_message: a path can't be examined. */
int nm_setup_undo_examine(const char *root, const struct nm_setup_manifest *m, struct nm_arena *a,
                          struct nm_setup_remaining **ret, char **ret_message);
/* Carries out the undo. If a step fails, continues, and adds a sentence for the failure to *ret_message. The manifest
 * is then kept, so that undo can be run again. The directories above the manifest are removed after the manifest, so a
 * failure to remove them is only reported. */
int nm_setup_undo_act(const char *root, const struct nm_setup_undo *u, const char *manifest_path, char **ret_message);
/* Returns the failures that read-only files or directories would cause, without making changes. */
int nm_setup_undo_check(const char *root, const struct nm_setup_undo *u, const char *manifest_path,
                        char **ret_message);
