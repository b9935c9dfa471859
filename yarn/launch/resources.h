/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The resources that an application names, as the localizer takes them. */

#include "localize/localizer.h"
#include "rpc/hadoop/arena.h"
#include "util/error.h"
#include "yarn/containers.pb-c.h"

/* default_fs: what nm_yarn_sources_default() found; with NULL a URI without a scheme names a file of this node. *ret
 * has n resources and is in the arena. -EINVAL and *ret_message: one of them is no valid resource. */
int nm_yarn_resources(Yarn__NamedResource *const *from, size_t n, const char *default_fs, struct nm_arena *arena,
                      struct nm_localizer_resource **ret, char **ret_message);

/* The name under which a resource stands in its directory (nm_localizer_target()); of one that nm_yarn_resources()
 * has taken. */
const char *nm_yarn_resource_name(const Yarn__NamedResource *resource);
