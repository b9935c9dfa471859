/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What of the cache outlives nmd: for each entry a small file of nmd's, named by its id, in a directory of nmd's own.
 * It is there before the resource is and goes after it, so nothing can be left behind that nobody knows of. Only a
 * resource that was whole, and was fetched since the host was booted (they aren't synced), is found again; others
 * come back doomed, to be removed as everything is. The file's time of change is when the resource was used last. Its
 * sticky bit, which means nothing for a file, says that a list of what is in the resource stands beside it (listing.h):
 * an nmd that knows no such lists rejects a file with a key that it doesn't know, and would leave the resource behind.
 */

#include <jansson.h>

#include "localize/cache.h"

int nm_cache_file_save(int dir_fd, const struct nm_cache_entry *entry, const char *boot_id);
/* Saves the entry unless its file says already what it is: whole, or not. */
int nm_cache_file_note(int dir_fd, struct nm_cache *cache, uint64_t id, const char *boot_id);
int nm_cache_file_touch(int dir_fd, uint64_t id, uint64_t used_usec);
int nm_cache_file_remove(int dir_fd, uint64_t id);

/* Puts all that the files say into the cache, and removes those that have no number. */
int nm_cache_file_load(int dir_fd, const char *boot_id, struct nm_cache *cache);

/* A file's text; the strings of the key belong to *ret_json, which the caller drops. -EBADMSG: it says nothing. */
int nm_cache_file_parse(const char *text, size_t size, const char *boot_id, struct nm_cache_entry *ret,
                        json_t **ret_json);
