/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the settings of the proxy of application masters mean together. */

#include "yarn/conf/conf.h"
#include "yarn/conf/properties.h"

/* After the table's properties were read: is there a proxy, and where does it go on to? -EINVAL and *ret_message: they
 * don't go together. */
int nm_yarn_proxying_read(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, char **ret_message);
