/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The list of all changes that a setup has made, so that undo reverts exactly these changes. The list is saved before
 * the first change. So after an interrupted setup it contains all changes that were made, and possibly changes that
 * were not made. The entry of a file has the checksum of its text. While the file is being replaced, the entry has two
 * checksums, those of the old and the new text.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "rpc/hadoop/arena.h"
#include "util/error.h"

#define NM_SETUP_SHA256_SIZE 64

enum nm_setup_entry_kind {
    NM_SETUP_WROTE_FILE,
    NM_SETUP_MADE_DIR,
    NM_SETUP_CHANGED_DIR, /* the setup has changed owner and mode of a directory */
};

struct nm_setup_entry {
    enum nm_setup_entry_kind kind;
    const char *path;
    const char *sums[2]; /* for a file: SHA-256 of the texts that the setup wrote; the second may be NULL */
    uid_t uid;           /* for a changed directory: its former owner; gid and mode: its former group and mode */
    gid_t gid;
    mode_t mode;
};

struct nm_setup_manifest {
    const char *conf_dir; /* NULL: there is no manifest */
    struct nm_setup_entry *entries;
    size_t n;
};

/* Parses a manifest. The code is pure. -EBADMSG and *ret_message: the text is invalid. */
int nm_setup_manifest_parse(struct nm_arena *a, const char *text, size_t size, struct nm_setup_manifest *ret,
                            char **ret_message);
/* Formats a manifest. The caller frees *ret. */
int nm_setup_manifest_print(const struct nm_setup_manifest *m, char **ret);

/* Finds an entry. NULL: the manifest has no entry of this kind and path. */
const struct nm_setup_entry *nm_setup_manifest_find(const struct nm_setup_manifest *m, enum nm_setup_entry_kind kind,
                                                    const char *path);
/* Returns whether a file with this checksum has a text that the setup wrote. */
bool nm_setup_entry_has(const struct nm_setup_entry *e, const char *sum);

/* Reads the manifest. path: an absolute path on this host. If the file doesn't exist, *ret is empty. -EBADMSG and
 * *ret_message: the file is invalid. */
int nm_setup_manifest_load(struct nm_arena *a, const char *path, struct nm_setup_manifest *ret, char **ret_message);
