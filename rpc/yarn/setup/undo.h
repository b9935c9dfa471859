/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Takes back what a setup has written, and nothing else: a file that isn't as it was written, a directory that has
 * something in it or got another owner since, stay, and are named.
 */

#include "rpc/yarn/setup/facts.h"

enum nm_setup_undo_act {
    NM_SETUP_REMOVE,
    NM_SETUP_RESTORE, /* owner and mode */
    NM_SETUP_GONE,    /* nothing is left to do */
    NM_SETUP_STAY,
};

struct nm_setup_undo_step {
    enum nm_setup_undo_act act;
    const struct nm_setup_entry *entry;
    const struct nm_setup_spot *spot;
    const char *why; /* it stays; or NULL */
};

/* What stands at an entry's path now. */
struct nm_setup_left {
    struct nm_setup_spot spot;
    const char **names; /* what a directory that was made has in it, NULL-terminated, some of it if it is much */
};

struct nm_setup_undo {
    struct nm_setup_undo_step *steps; /* in the order in which they are done */
    size_t n;
    size_t n_staying;
};

/* Pure. left: as many as the manifest has entries; manifest_path goes as the last file. */
int nm_setup_undo_plan(const struct nm_setup_manifest *m, const struct nm_setup_left *left, uid_t uid, gid_t gid,
                       const char *manifest_path, struct nm_arena *a, struct nm_setup_undo *ret);

/* *ret_message: what can't be looked at: nothing is known of it then. */
int nm_setup_undo_look(const char *root, const struct nm_setup_manifest *m, struct nm_arena *a,
                       struct nm_setup_left **ret, char **ret_message);
/* Goes on after a step that fails, with a sentence for each; then the manifest stays, and it can be done again. What is
 * above the manifest goes after it, so that one of these that fails is named, and no more. */
int nm_setup_undo_act(const char *root, const struct nm_setup_undo *u, const char *manifest_path, char **ret_message);
