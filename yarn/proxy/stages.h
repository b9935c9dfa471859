/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Which stages there are, and which of them the configuration asks for. */

#include "yarn/proxy/stage.h"

#define NM_STAGES_MAX 8u

/* The chain: distributed scheduling first where it is enabled, then the property's, by the names of Java's classes.
 * *ret has room for NM_STAGES_MAX. -EOPNOTSUPP and *ret_message: there is no such stage, or they can't be in this
 * order. */
int nm_stages_choose(const struct nm_yarn_settings *s, const struct nm_stage_type **ret, size_t *ret_n,
                     char **ret_message);
