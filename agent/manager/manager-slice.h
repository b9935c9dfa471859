/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/manager/manager-state.h"

/* Before anything else: what an earlier nmd asked for, and how many tasks the node has for all, and so for each. */
void nm_slice_begin(struct nm_manager *m);
/* All of the slice's limits: at the start, once the containers of an earlier nmd are known, and when the capacity has
 * changed. */
void nm_slice_set(struct nm_manager *m);
/* Whenever a guaranteed container may have come, gone, grown, shrunk or changed its type. Cheap when none has. */
void nm_slice_follow(struct nm_manager *m);
void nm_slice_check_drift(struct nm_manager *m);
