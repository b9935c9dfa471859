/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Converts the resources that an application names to the localizer's form. */

#include "localize/localizer.h"
#include "rpc/hadoop/arena.h"
#include "util/error.h"
#include "yarn/containers.pb-c.h"

/* default_fs: the result of nm_yarn_sources_default(). If default_fs is NULL, a URI without a scheme names a file of
 * this node. *ret has n resources and is in the arena. -EINVAL and *ret_message: a resource is invalid. */
int nm_yarn_resources(Yarn__NamedResource *const *from, size_t n, const char *default_fs, struct nm_arena *arena,
                      struct nm_localizer_resource **ret, char **ret_message);

/* Returns the file name of a resource in its directory (nm_localizer_target()). nm_yarn_resources() must have accepted
 * the resource. */
const char *nm_yarn_resource_name(const Yarn__NamedResource *resource);
