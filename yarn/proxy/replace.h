/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What an application's master is launched with: the ResourceManager's AMRM token among its credentials is kept here,
 * and one of the proxy's takes its place, under the same alias. All the rest stays as it is.
 */

#include "rpc/hadoop/credentials.h"

/*
 * credentials: as a launch context has them. *ret: those with `ours` in them, in the arena; *ret_theirs: what was there
 * before, the caller's to free.
 * -ENOKEY: there was none. -EBADMSG: these are no credentials. -ENOMEM. If there are several, as Java's proxy does, the
 * first counts; none of the ResourceManager's stays.
 */
int nm_yarn_replace_token(struct nm_arena *a, struct nm_bytes credentials, const struct nm_token *ours,
                          struct nm_bytes *ret, struct nm_token **ret_theirs);
