/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Replaces the token in the credentials of an application's master. The proxy keeps the ResourceManager's AMRM token
 * and puts a token of its own under the same alias. Everything else in the credentials is unchanged.
 */

#include "rpc/hadoop/token.h"

/*
 * credentials: from a launch context. *ret: the credentials with `ours`, in the arena. *ret_theirs: the former token,
 * which the caller frees. -ENOKEY: the credentials have no AMRM token; -EBADMSG: the credentials are invalid; -ENOMEM.
 * If there are several AMRM tokens, the first token is returned, as in Java's proxy, and all of them are removed.
 */
int nm_yarn_replace_token(struct nm_arena *a, struct nm_bytes credentials, const struct nm_token *ours,
                          struct nm_bytes *ret, struct nm_token **ret_theirs);
