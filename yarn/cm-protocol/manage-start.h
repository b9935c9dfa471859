/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The methods of manage.h that come with container tokens: starts and updates. userdata: struct nm_yarn_manage. */

#include "yarn/cm-protocol/manage-call.h"

void nm_manage_start(struct nm_hadoop_call *call, void *userdata);
void nm_manage_update(struct nm_hadoop_call *call, void *userdata);

/* Applies a token of an update that the ResourceManager sends itself. Returns 0, a positive outcome with *why, or
 * -errno. */
int nm_manage_update_one(struct nm_yarn_manage *m, const Hadoop__Token *token, struct nm_arena *a,
                         struct nm_exception *why);
