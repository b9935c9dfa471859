/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

struct nm_reclaim *nm_reclaim_new(void); /* NULL: no memory */
struct nm_reclaim *nm_reclaim_free(struct nm_reclaim *r);
/* l->reclaim_bytes, within l->reclaim_within_usec (0: no bound), in a worker. */
void nm_reclaim_start(struct nm_live_container *l);
/* Before it is killed: what a reclaim that is still at work has brought, and how fast, is told now or never. The worker
 * leaves as soon as the kernel lets it. */
void nm_reclaim_overtaken(struct nm_live_container *l);
/* What the latest ones brought, all of them alike; 0 when that was long ago. */
uint64_t nm_reclaim_bytes_per_sec(const struct nm_manager *m);
