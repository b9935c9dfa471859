/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* How much of each of its two streams a container that starts now may keep on disk. Room for it is made where it is
 * missing: logs of ended containers are shortened. */
uint64_t nm_output_allowance(struct nm_manager *m);
/* From here on, that is what its log takes up. */
void nm_output_ended(struct nm_manager *m, struct nm_container *c);
/* Every now and then: are all logs within their share, and is there room for the journal? */
void nm_output_tidy(struct nm_manager *m);
/* Before its processes are killed: what they wrote last still comes into its log. */
void nm_output_keep_last(struct nm_live_container *l);
