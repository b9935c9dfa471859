/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "yarn/proxy/stage.h"

/*
 * The last stage: asks the ResourceManager, on a connection of the attempt's own, with the token that the
 * ResourceManager gave for it. While that one can't be reached, calls wait for a while, and are then answered so that
 * the master comes again; nothing else waits for it. Of several ResourceManagers the one that is active is found.
 */
extern const struct nm_stage_type nm_stage_forward;
