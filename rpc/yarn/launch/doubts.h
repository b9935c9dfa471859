/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a node's configuration names and its containers would miss: no start is refused for it, since it may be there
 * later, but an operator wants to hear of it before the first job fails.
 */

#include <sys/types.h>

#include "rpc/yarn/conf/properties.h"

/* nmd_uid: as whom nmd runs. A sentence for each thing; tell may be NULL. */
void nm_yarn_doubts_tell(const struct nm_yarn_settings *s, uid_t nmd_uid,
                         void (*tell)(int level, const char *sentence));
