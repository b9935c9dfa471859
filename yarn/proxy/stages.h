/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The table of stages, and the choice of the stages that the configuration requests. */

#include "yarn/proxy/stage.h"

#define NM_STAGES_MAX 8u

/* Chooses the chain: distributed scheduling first if it is enabled, then the stages of the property, given as Java
 * class names. *ret has room for NM_STAGES_MAX stages. -EOPNOTSUPP and *ret_message: a stage doesn't exist, or the
 * order is invalid. */
int nm_stages_choose(const struct nm_yarn_settings *s, const struct nm_stage_type **ret, size_t *ret_n,
                     char **ret_message);
