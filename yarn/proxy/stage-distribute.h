/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "yarn/proxy/stage.h"

/*
 * Distributed scheduling: takes the opportunistic asks out of a master's calls, and places them on the nodes that the
 * ResourceManager lists (allocator/). The same call reports the placements to the ResourceManager, and the call's
 * answer reports them to the master.
 */
extern const struct nm_stage_type nm_stage_distribute;
