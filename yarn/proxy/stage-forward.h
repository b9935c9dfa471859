/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "yarn/proxy/stage.h"

/*
 * The last stage: calls the ResourceManager, on a connection of its own per attempt, with the token that the
 * ResourceManager issued for the attempt. If the ResourceManager can't be reached, calls wait for a while and are then
 * answered so that the master retries. The event loop is not blocked meanwhile. If there are several ResourceManagers,
 * the stage finds the active one.
 */
extern const struct nm_stage_type nm_stage_forward;
