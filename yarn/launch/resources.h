/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The input of nm-localizer: the resources that an application requests, and the settings for fetching them. */

#include <jansson.h>

#include "localize/localizer.h"
#include "rpc/hadoop/arena.h"
#include "util/error.h"
#include "yarn/conf/settings.h"
#include "yarn/containers.pb-c.h"

/* Converts resources to the format of the localizer. default_fs: the result of nm_yarn_sources_default(); NULL: a URI
 * without a scheme names a file of this node. *ret has n resources and is in the arena. -EINVAL and *ret_message: a
 * resource is invalid. */
int nm_yarn_resources(Yarn__NamedResource *const *from, size_t n, const char *default_fs, struct nm_arena *arena,
                      struct nm_localizer_resource **ret, char **ret_message);

/* Returns the name of a resource's file in the directory that nm_localizer_target() returns. nm_yarn_resources() must
 * have accepted the resource. */
const char *nm_yarn_resource_name(const Yarn__NamedResource *resource);

/* ---- settings: fetching.c ----------------------------------------------------------------- */

/* Returns the settings that every nm-localizer needs, for all kinds of fetching (localize/worker/work.h), including the
 * variables of nmd's environment that Hadoop's client uses. The caller owns the object. NULL: no memory. */
json_t *nm_yarn_fetching(const struct nm_yarn_settings *s);
/* Returns the PATH in the environment that nm_yarn_fetching() returns. Workers look for commands in its directories.
 * The caller frees it. NULL: no memory. */
char *nm_yarn_fetching_path(void);
