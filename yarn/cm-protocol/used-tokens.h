/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The ids of the containers that were started on this node. A container token allows one start, so a second start with
 * the same token must be refused. A container may end and be removed before its token expires, so its id is kept here
 * until the token expires. The code is pure.
 */

#include <stdbool.h>

#include "util/macros.h"
#include "yarn/ids.h"

/* Maximum number of entries. A token is valid for ten minutes, so this allows a hundred starts per second. */
#define NM_YARN_USED_MAX 65536u

struct nm_yarn_used;

int nm_yarn_used_new(struct nm_yarn_used **ret);
struct nm_yarn_used *nm_yarn_used_free(struct nm_yarn_used *u);
NM_DEFINE_CLEANUP(struct nm_yarn_used *, nm_yarn_used_free)

bool nm_yarn_used_has(const struct nm_yarn_used *u, const struct nm_yarn_container_id *id);
/* Removes the entries whose tokens have expired, and allocates space for one more entry. -ENOBUFS: the table is
 * full. */
int nm_yarn_used_make_room(struct nm_yarn_used *u, int64_t now_msec);
/* Adds an entry. Must be called after nm_yarn_used_make_room(). */
void nm_yarn_used_add(struct nm_yarn_used *u, const struct nm_yarn_container_id *id, int64_t expires_msec);

/* Returns the i-th entry, which the caller saves across a restart of nmd. Returns false if i is past the end. */
bool nm_yarn_used_get(const struct nm_yarn_used *u, size_t i, struct nm_yarn_container_id *ret,
                      int64_t *ret_expires_msec);
/* Returns a counter that increases when an entry is added. */
uint64_t nm_yarn_used_changes(const struct nm_yarn_used *u);
