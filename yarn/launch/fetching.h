/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The settings that every nm-localizer needs, for any kind of fetch (localize/work.h). */

#include <jansson.h>

#include "yarn/conf/settings.h"

/* Returns an object that the caller owns, or NULL without memory. Includes the variables of nmd's environment that
 * Hadoop's client uses. */
json_t *nm_yarn_fetching(const struct nm_yarn_settings *s);
/* Returns the PATH in the environment of nm_yarn_fetching(), in which workers look for commands. The caller owns the
 * result. NULL: no memory. */
char *nm_yarn_fetching_path(void);
