/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The cache on the disk: the resources, and nmd's files about them.
 *
 * Paths of the resources below the local directory, as in Hadoop:
 *
 *   filecache/N                                     PUBLIC, owned by an account for this purpose
 *   usercache/USER/filecache/N                      PRIVATE
 *   usercache/USER/appcache/APPLICATION/filecache/N APPLICATION
 *
 * Each N contains the resource, under the resource's own name. nmd makes one directory for each account, which is
 * called the account's base: filecache or usercache/USER. The account owns everything below its base, and could replace
 * any directory there by a file or link.
 */

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "localize/cache.h"

/* Returns the path of N. The caller frees the string. NULL: no memory. */
char *nm_layout_target(const char *local_dir, const struct nm_cache_entry *entry);

/* Returns whether a fetched resource is still unchanged, as far as a short check can show. name: the resource's name in
 * its directory; NULL: only the directory is checked. A file must have its size. A directory must contain a file, if
 * its size was more than 0 bytes. A resource that can't be examined, or has too many directories for a short check,
 * counts as unchanged. */
bool nm_layout_is_unchanged(int local_fd, const struct nm_cache_entry *entry, const char *name);

/* Makes the account's base directory if it doesn't exist. -EPERM: another account owns the directory. */
int nm_layout_make_base(int local_fd, const char *user, bool is_public, uid_t uid, gid_t gid);

/* Returns the owner of the base directory of the resource. -ENOENT: the base directory doesn't exist, so the resource
 * doesn't exist either. */
int nm_layout_owner(int local_fd, const struct nm_cache_key *key, uid_t *ret_uid, gid_t *ret_gid);

/* ---- cache-file.c ---------------------------------------------------------------------------- */

/*
 * The persistent part of the cache: one small file for each entry, named by its id, in a directory that belongs to nmd.
 * The file is created before the resource and removed after it, so a resource never exists without its file. An entry
 * is restored as usable only if its resource was complete and was fetched since the host was booted, because resources
 * aren't synced. Other entries are restored with is_leaving, and are then removed.
 *
 * The file's mtime is the time of the resource's last use. The file's sticky bit, which has no effect on a file, means
 * that a list of the resource's contents exists beside the resource (install.h). This mark isn't a member in the file,
 * because an nmd without support for lists rejects a file with an unknown member, and would never remove the resource.
 */

int nm_cache_file_save(int dir_fd, const struct nm_cache_entry *entry, const char *boot_id);
/* Saves the entry unless its file already has the right state (whole or not). */
int nm_cache_file_note(int dir_fd, struct nm_cache *cache, uint64_t id, const char *boot_id);
int nm_cache_file_touch(int dir_fd, uint64_t id, uint64_t used_usec);
int nm_cache_file_remove(int dir_fd, uint64_t id);

/* Restores all entries from their files into the cache. Removes the files whose names aren't numbers. */
int nm_cache_file_load(int dir_fd, const char *boot_id, struct nm_cache *cache);

/* Parses a file's text. The strings of the entry's key belong to *ret_json, which the caller releases. -EBADMSG: the
 * text is invalid. */
int nm_cache_file_parse(const char *text, size_t size, const char *boot_id, struct nm_cache_entry *ret,
                        json_t **ret_json);
