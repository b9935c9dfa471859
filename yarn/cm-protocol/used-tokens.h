/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Containers that were started here, for as long as the token that allowed it is good: it allows that once. A container
 * may be over and forgotten before its token is. Pure.
 */

#include <stdbool.h>

#include "util/macros.h"
#include "yarn/ids.h"

/* So many at the same time. A token is good for ten minutes: a hundred starts a second. */
#define NM_YARN_USED_MAX 65536u

struct nm_yarn_used;

int nm_yarn_used_new(struct nm_yarn_used **ret);
struct nm_yarn_used *nm_yarn_used_free(struct nm_yarn_used *u);
NM_DEFINE_CLEANUP(struct nm_yarn_used *, nm_yarn_used_free)

bool nm_yarn_used_has(const struct nm_yarn_used *u, const struct nm_yarn_container_id *id);
/* Forgets those that have expired by now, and makes room for one more. -ENOBUFS: there is none. */
int nm_yarn_used_make_room(struct nm_yarn_used *u, int64_t now_msec);
/* After nm_yarn_used_make_room(). */
void nm_yarn_used_add(struct nm_yarn_used *u, const struct nm_yarn_container_id *id, int64_t expires_msec);

/* The i-th, for who keeps them over a restart; false: there are no more. */
bool nm_yarn_used_get(const struct nm_yarn_used *u, size_t i, struct nm_yarn_container_id *ret,
                      int64_t *ret_expires_msec);
/* Changes when one is added. */
uint64_t nm_yarn_used_changes(const struct nm_yarn_used *u);
