/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Paths of the resources under the local directory, as in Hadoop:
 *
 *   filecache/N                                     PUBLIC, owned by an account for this purpose
 *   usercache/USER/filecache/N                      PRIVATE
 *   usercache/USER/appcache/APPLICATION/filecache/N APPLICATION
 *
 * Each N contains the resource, under the resource's own name. nmd makes one directory for each account: the account's
 * base, which is filecache or usercache/USER. The account owns all below the base, and could replace any directory
 * below it by a file or link.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "localize/cache.h"

/* Returns the path of N, which the caller frees. NULL: no memory. */
char *nm_layout_target(const char *local_dir, const struct nm_cache_entry *entry);

/* Returns whether a fetched resource is still unchanged, as far as one look can show. name: the resource's name in its
 * directory; NULL: only the directory is looked for. A file must have its size. A directory must contain more than
 * directories, if it had any bytes. A resource that cannot be examined, or has too many directories for one look,
 * counts as unchanged. */
bool nm_layout_is_there(int local_fd, const struct nm_cache_entry *entry, const char *name);

/* Makes the account's base directory if it doesn't exist. -EPERM: another account owns the directory. */
int nm_layout_make_base(int local_fd, const char *user, bool is_public, uid_t uid, gid_t gid);

/* Returns the owner of the base directory that contains the resource. -ENOENT: the base directory doesn't exist, so
 * the resource doesn't exist either. */
int nm_layout_owner(int local_fd, const struct nm_cache_key *key, uid_t *ret_uid, gid_t *ret_gid);
