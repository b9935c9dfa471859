/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where Java and Hadoop are on this host. */

#include "rpc/yarn/setup/facts.h"

/* -EINVAL and *ret_message: the wish names a Java that isn't there. That none is found is no error. */
int nm_setup_find_programs(const struct nm_setup_wish *w, struct nm_arena *a, struct nm_setup_facts *f,
                           char **ret_message);
