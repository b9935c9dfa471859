/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The part of the cache that survives nmd: one small file for each entry, named by its id, in a directory of nmd's own.
 * The file is made before the resource and removed after it, so no resource is left behind without a file. Only a
 * resource that was complete and was fetched since the host was booted (resources are not synced) is restored as
 * usable. Other resources are restored with is_leaving, and are then removed. The file's mtime is the time of the
 * resource's last use. Its sticky bit, which has no effect on a file, means that a list of the resource's contents is
 * beside the resource (listing.h). The mark is not a key in the file, because an nmd without support for lists rejects
 * a file with an unknown key, and would leave the resource behind.
 */

#include <jansson.h>

#include "localize/cache.h"

int nm_cache_file_save(int dir_fd, const struct nm_cache_entry *entry, const char *boot_id);
/* Saves the entry unless its file already has the right state (whole or not). */
int nm_cache_file_note(int dir_fd, struct nm_cache *cache, uint64_t id, const char *boot_id);
int nm_cache_file_touch(int dir_fd, uint64_t id, uint64_t used_usec);
int nm_cache_file_remove(int dir_fd, uint64_t id);

/* Restores all entries from their files into the cache, and removes the files whose names are not numbers. */
int nm_cache_file_load(int dir_fd, const char *boot_id, struct nm_cache *cache);

/* Parses a file's text. The strings of the entry's key belong to *ret_json, which the caller releases. -EBADMSG: the
 * text is invalid. */
int nm_cache_file_parse(const char *text, size_t size, const char *boot_id, struct nm_cache_entry *ret,
                        json_t **ret_json);
