/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a setup has written, so that it can be taken back, and only that. It is saved before anything is done: what a
 * setup that was interrupted has done is in it, and perhaps more. A file's entry has its sums, of which any is ours:
 * while one is replaced there are two.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "rpc/hadoop/arena.h"
#include "util/error.h"

#define NM_SETUP_SUM_SIZE 64

enum nm_setup_entry_kind {
    NM_SETUP_WROTE_FILE,
    NM_SETUP_MADE_DIR,
    NM_SETUP_CHANGED_DIR, /* its owner and mode */
};

struct nm_setup_entry {
    enum nm_setup_entry_kind kind;
    const char *path;
    const char *sums[2]; /* of a file: its text's; the second may be NULL */
    uid_t uid;           /* of a changed directory, as it was before; so are the next two */
    gid_t gid;
    mode_t mode;
};

struct nm_setup_manifest {
    const char *conf_dir; /* NULL: there is none */
    struct nm_setup_entry *entries;
    size_t n;
};

/* Pure. -EBADMSG and *ret_message: it is no manifest. */
int nm_setup_manifest_parse(struct nm_arena *a, const char *text, size_t size, struct nm_setup_manifest *ret,
                            char **ret_message);
/* The caller frees *ret. */
int nm_setup_manifest_print(const struct nm_setup_manifest *m, char **ret);

/* NULL: there is no such entry. */
const struct nm_setup_entry *nm_setup_manifest_find(const struct nm_setup_manifest *m, enum nm_setup_entry_kind kind,
                                                    const char *path);
/* Is a file with that sum as we wrote it? */
bool nm_setup_entry_has(const struct nm_setup_entry *e, const char *sum);

/* An empty one if there is no file. -EBADMSG and *ret_message: there is one that can't be read. path: on this host. */
int nm_setup_manifest_load(struct nm_arena *a, const char *path, struct nm_setup_manifest *ret, char **ret_message);
