/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Carries out a plan. The manifest is on the disk before the first change that undo has to revert. */

#include "yarn/setup/plan.h"

/* Continues after a step that fails: *ret_message has a sentence for each failure, and the first failure is
 * returned. */
int nm_setup_act(const struct nm_setup_wish *w, const struct nm_setup_facts *f, const struct nm_setup_plan *p,
                 struct nm_arena *a, char **ret_message);
/* Returns the failures that read-only files or directories would cause, without changing anything. */
int nm_setup_act_check(const struct nm_setup_wish *w, const struct nm_setup_plan *p, char **ret_message);
