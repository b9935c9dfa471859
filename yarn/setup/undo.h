/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reverts only the changes of a setup. A file that was changed since is left, and so is a directory that isn't empty or
 * has another owner. Both are reported and kept in the list, so that a later undo can revert them.
 */

#include "yarn/setup/facts.h"

enum nm_setup_undo_act {
    NM_SETUP_REMOVE,
    NM_SETUP_RESTORE, /* set the directory's former owner and mode */
    NM_SETUP_GONE,    /* the path has no change left to undo */
    NM_SETUP_STAY,
};

struct nm_setup_undo_step {
    enum nm_setup_undo_act act;
    const struct nm_setup_entry *entry;
    const struct nm_setup_spot *spot;
    const char *why; /* why the path stays, or what remains in a restored directory; else NULL */
};

/* The present state of an entry's path. */
struct nm_setup_left {
    struct nm_setup_spot spot;
    /* Contents of a directory that was made. For a changed directory: the contents that belong to this user.
     * NULL-terminated; incomplete if there are many. */
    const char **names;
    bool has_new; /* of a file: a file NM_SETUP_NEW_NAME exists beside the file */
};

struct nm_setup_undo {
    struct nm_setup_undo_step *steps; /* the steps in the order of execution */
    size_t n;
    struct nm_setup_manifest kept; /* the entries that stay; the manifest is removed if this is empty */
};

/* Plans the undo; pure. left: the state of each entry of the manifest. The file manifest_path is removed or written
 * anew after all other files. */
int nm_setup_undo_plan(const struct nm_setup_manifest *m, const struct nm_setup_left *left, uid_t uid, gid_t gid,
                       const char *manifest_path, struct nm_arena *a, struct nm_setup_undo *ret);

/* Examines the path of each entry. -errno and *ret_message: a path can't be examined. */
int nm_setup_undo_look(const char *root, const struct nm_setup_manifest *m, struct nm_arena *a,
                       struct nm_setup_left **ret, char **ret_message);
/* Continues after a failed step, and puts a sentence for each failure into *ret_message. The manifest then stays, so
 * that undo can be run again. Directories above the manifest are removed after the manifest, so a failure there is only
 * reported. */
int nm_setup_undo_act(const char *root, const struct nm_setup_undo *u, const char *manifest_path, char **ret_message);
/* Returns the failures that read-only files or directories would cause, without changing anything. */
int nm_setup_undo_check(const char *root, const struct nm_setup_undo *u, const char *manifest_path,
                        char **ret_message);
