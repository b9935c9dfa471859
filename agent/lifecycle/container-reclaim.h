/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

struct nm_reclaim *nm_reclaim_new(void); /* NULL: out of memory */
struct nm_reclaim *nm_reclaim_free(struct nm_reclaim *r);
/* Starts a worker that reclaims l->reclaim_bytes within l->reclaim_within_usec (0: no time limit). */
void nm_reclaim_start(struct nm_live_container *l);
/* Prepares the kill of a container with a running reclaim. Records the amount and speed of the reclaim now, because no
 * later report will come. The worker exits as soon as the kernel lets it. */
void nm_reclaim_overtaken(struct nm_live_container *l);
/* Returns the combined speed of the latest reclaims, or 0 if there was no recent reclaim. */
uint64_t nm_reclaim_bytes_per_sec(const struct nm_manager *m);
