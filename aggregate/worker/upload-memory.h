/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory of the uploads of an application: which log files were uploaded, and how much of each. Two files in the
 * application's log directory contain it: NM_UPLOAD_MEMORY has the last upload that is complete, and NM_UPLOAD_PENDING
 * an upload whose remote file may be in place already. Both belong to the user, who can only damage the user's own
 * logs.
 *
 * A file is recognized by its inode number and a fingerprint of bytes that were uploaded, because an inode number is
 * reused when a file is replaced, and a log file may be renamed when it is rotated.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

#define NM_UPLOAD_MEMORY ".nmd-uploaded"
#define NM_UPLOAD_PENDING ".nmd-uploaded.pending"
#define NM_UPLOAD_MEMORY_MAX_ENTRIES 65536U

struct nm_upload_entry {
    const char *container; /* owned by the memory */
    uint64_t inode;
    uint64_t bytes;       /* bytes that were uploaded */
    uint64_t fingerprint; /* of these bytes, by nm_upload_fingerprint() */
};

struct nm_upload_memory {
    /* the upload that has written this memory; upload_msec is 0 if no upload has written it */
    uint64_t upload_msec;
    uint64_t remote_bytes, log_bytes, n_files;
    char *remote_name; /* NULL if there is no upload */
    struct nm_upload_entry *entries; /* sorted by inode */
    size_t n, size;
    char **containers; /* the entries' containers */
    size_t n_containers, containers_size;
};

void nm_upload_memory_done(struct nm_upload_memory *memory);

/* Sets the upload. */
int nm_upload_memory_set_upload(struct nm_upload_memory *memory, uint64_t upload_msec, const char *remote_name,
                                uint64_t remote_bytes, uint64_t log_bytes, uint64_t n_files);
/* Appends an entry; successive entries of one container share its string. Call nm_upload_memory_sort() before a search.
 * Returns 0, -E2BIG if there are too many entries, or -ENOMEM. */
int nm_upload_memory_add(struct nm_upload_memory *memory, const char *container, uint64_t inode, uint64_t bytes,
                         uint64_t fingerprint);
void nm_upload_memory_sort(struct nm_upload_memory *memory);
/* Returns the index of the first entry with this inode, or of the entry after it. */
size_t nm_upload_memory_search(const struct nm_upload_memory *memory, uint64_t inode);

/* Parses and prints the text of a memory. The caller frees *ret. -EBADMSG: the text isn't a whole memory. */
int nm_upload_memory_parse(const char *text, size_t size, struct nm_upload_memory *ret);
int nm_upload_memory_print(const struct nm_upload_memory *memory, char **ret, size_t *ret_size);

/* Reads a memory from the application's log directory. -ENOENT: the file doesn't exist. -EBADMSG: it is damaged. */
int nm_upload_memory_load(int dir_fd, const char *name, struct nm_upload_memory *ret);
/* Writes a memory durably. */
int nm_upload_memory_save(int dir_fd, const char *name, const struct nm_upload_memory *memory);

/* Computes the fingerprint of the first `bytes` bytes of an open file from its first and last bytes. A file that has
 * become shorter has another fingerprint. Returns 0 or -errno. */
int nm_upload_fingerprint(int fd, uint64_t bytes, uint64_t *ret);
