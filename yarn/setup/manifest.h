/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The list of the changes of a setup, so that undo reverts exactly these. The list is saved before the first change:
 * after an interrupted setup it has all changes that were made, and perhaps more. The entry of a file has checksums:
 * two while the file is being replaced, either of which shows that the setup wrote the file.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "rpc/hadoop/arena.h"
#include "util/error.h"

#define NM_SETUP_SUM_SIZE 64

enum nm_setup_entry_kind {
    NM_SETUP_WROTE_FILE,
    NM_SETUP_MADE_DIR,
    NM_SETUP_CHANGED_DIR, /* changed owner and mode of a directory */
};

struct nm_setup_entry {
    enum nm_setup_entry_kind kind;
    const char *path;
    const char *sums[2]; /* of a file: SHA-256 of the file's text; the second may be NULL */
    uid_t uid;           /* of a changed directory: the directory's former owner; gid and mode likewise */
    gid_t gid;
    mode_t mode;
};

struct nm_setup_manifest {
    const char *conf_dir; /* NULL if there is no manifest */
    struct nm_setup_entry *entries;
    size_t n;
};

/* Parses a manifest; pure. -EBADMSG and *ret_message: the text is invalid. */
int nm_setup_manifest_parse(struct nm_arena *a, const char *text, size_t size, struct nm_setup_manifest *ret,
                            char **ret_message);
/* Formats a manifest. The caller frees *ret. */
int nm_setup_manifest_print(const struct nm_setup_manifest *m, char **ret);

/* Finds an entry. NULL: the manifest has no entry of this kind and path. */
const struct nm_setup_entry *nm_setup_manifest_find(const struct nm_setup_manifest *m, enum nm_setup_entry_kind kind,
                                                    const char *path);
/* Returns whether the checksum is that of a text that the setup wrote. */
bool nm_setup_entry_has(const struct nm_setup_entry *e, const char *sum);

/* Reads the file. path: a path of this host. *ret is empty if the file doesn't exist. -EBADMSG and *ret_message: the
 * file is invalid. */
int nm_setup_manifest_load(struct nm_arena *a, const char *path, struct nm_setup_manifest *ret, char **ret_message);
