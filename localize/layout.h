/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where resources stand under the local directory, as in Hadoop:
 *
 *   filecache/N                                     PUBLIC, of an account that is for this
 *   usercache/USER/filecache/N                      PRIVATE
 *   usercache/USER/appcache/APPLICATION/filecache/N APPLICATION
 *
 * and in each N the resource, under its own name. nmd makes an account's one directory (its base: filecache, or
 * usercache/USER); below that all is the account's, and so is whatever could be put there in a directory's place.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "localize/cache.h"

/* N's whole name, for the caller to free; NULL: no memory. */
char *nm_layout_target(const char *local_dir, const struct nm_cache_entry *entry);

/* Is a resource that was fetched still what was fetched, as far as one look tells? name: what it is called in its
 * directory; NULL: only that directory is looked for. A file must have its size. A directory
 * must have more in it than directories, if it had any bytes. What can't be looked at, or has
 * too many directories for that, is taken to be there. */
bool nm_layout_is_there(int local_fd, const struct nm_cache_entry *entry, const char *name);

/* Makes the base for this account where there is none. -EPERM: it is another's. */
int nm_layout_make_base(int local_fd, const char *user, bool is_public, uid_t uid, gid_t gid);

/* Whose the base is in which this stands. -ENOENT: there is none, so nothing can stand in it. */
int nm_layout_owner(int local_fd, const struct nm_cache_key *key, uid_t *ret_uid, gid_t *ret_gid);
