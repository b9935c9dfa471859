/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Remembers which index files have been read completely and had the right checksum, and keeps the contents of the
 * newest of them in memory. Each reducer requests another record of the same files, so without the cache each request
 * would read and check the whole index of each map again. (A map for 5,000 reducers has an index of 120 KB.)
 *
 * A file is identified by its device, inode, size and times, so a modified file counts as a new file. The caller has
 * checked the owner of the file. Both the number of files and the memory are limited. Several threads may use a cache.
 * With the cache NULL no file is known or remembered.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "util/macros.h"

#define NM_SHUFFLE_CACHED_FILES_MAX 8192u
/* Memory for contents: the indexes of 139 maps for 5,000 reducers. Hadoop's handler has 10 MiB. */
#define NM_SHUFFLE_CACHED_BYTES_MAX (UINT64_C(16) << 20)
/* A longer index stays on the disk, so that no job can replace the indexes of all other jobs with one file. */
#define NM_SHUFFLE_CACHED_INDEX_MAX (UINT64_C(1) << 20)

struct nm_shuffle_index_cache;

int nm_shuffle_index_cache_new(struct nm_shuffle_index_cache **ret);
struct nm_shuffle_index_cache *nm_shuffle_index_cache_free(struct nm_shuffle_index_cache *c);

/* Returns whether a file has been checked. */
bool nm_shuffle_index_cache_has(struct nm_shuffle_index_cache *c, const struct stat *st);

/* The content of an index. It counts towards the cache's memory until its last user has released it. */
struct nm_shuffle_index_content {
    struct nm_shuffle_index_cache *cache;
    unsigned n_users; /* under the cache's lock */
    uint64_t job;     /* number of the job whose index it is */
    uint64_t size_bytes;
    uint8_t bytes[];
};

/* Returns the content of a checked file, which the caller releases; NULL: it is not in memory. */
struct nm_shuffle_index_content *nm_shuffle_index_cache_get(struct nm_shuffle_index_cache *c, const struct stat *st);

/* Returns memory for the content of a job's file that is about to be checked, which the caller releases. Removes the
 * oldest contents for it. NULL: the index is too long, or all memory is in use. */
struct nm_shuffle_index_content *nm_shuffle_index_cache_reserve(struct nm_shuffle_index_cache *c, uint64_t job,
                                                                uint64_t size_bytes);
/* Removes the contents of a job that has ended: otherwise their memory would be free only when others need it. */
void nm_shuffle_index_cache_forget(struct nm_shuffle_index_cache *c, uint64_t job);

/* Remembers a checked file with its content, or without it if content is NULL. The content must not change any more. */
void nm_shuffle_index_cache_add(struct nm_shuffle_index_cache *c, const struct stat *st,
                                struct nm_shuffle_index_content *content);

/* Returns NULL. */
struct nm_shuffle_index_content *nm_shuffle_index_content_release(struct nm_shuffle_index_content *content);
NM_DEFINE_CLEANUP(struct nm_shuffle_index_content *, nm_shuffle_index_content_release)
