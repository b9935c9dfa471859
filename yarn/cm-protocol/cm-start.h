/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The methods of cm-server.h that come with container tokens: starts and updates. userdata: struct
 * nm_yarn_cm_server. */

#include "yarn/cm-protocol/cm-call.h"

void nm_cm_start(struct nm_hadoop_call *call, void *userdata);
void nm_cm_update(struct nm_hadoop_call *call, void *userdata);

/* Applies a token of an update that the ResourceManager sends itself. Returns 0, a positive outcome with *why, or
 * -errno. */
int nm_cm_update_one(struct nm_yarn_cm_server *m, const Hadoop__Token *token, struct nm_arena *a,
                     struct nm_exception *why);
