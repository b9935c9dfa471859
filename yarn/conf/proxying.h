/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Checks the settings of the application masters' proxy, which depend on each other. */

#include "yarn/conf/conf.h"
#include "yarn/conf/properties.h"

/* Determines whether there is a proxy and which addresses it forwards to. Call this after the table's properties were
 * read. -EINVAL and *ret_message: the settings contradict each other. */
int nm_yarn_proxying_read(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, char **ret_message);
