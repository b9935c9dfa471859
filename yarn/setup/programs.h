/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds Java and Hadoop on this host. */

#include "yarn/setup/facts.h"

/* Succeeds also if there is no Java or Hadoop. -EINVAL and *ret_message: --java-home names a Java that doesn't
 * exist. */
int nm_setup_find_programs(const struct nm_setup_wish *w, struct nm_arena *a, struct nm_setup_facts *f,
                           char **ret_message);
