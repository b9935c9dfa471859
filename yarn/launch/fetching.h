/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What every nm-localizer's work has, whatever is fetched (localize/work.h). */

#include <jansson.h>

#include "yarn/conf/settings.h"

/* The caller's; NULL: no memory. Of nmd's own environment it takes what Hadoop's client goes by. */
json_t *nm_yarn_fetching(const struct nm_yarn_settings *s);
/* Where the workers' commands are looked for: the PATH in that environment. The caller's; NULL: no memory. */
char *nm_yarn_fetching_path(void);
