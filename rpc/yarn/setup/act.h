/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Carries a plan out. The manifest is on the disk before the first thing that has to be taken back. */

#include "rpc/yarn/setup/plan.h"

/* Goes on after a step that fails: *ret_message has a sentence for each, and the result is the first one's. */
int nm_setup_act(const struct nm_setup_wish *w, const struct nm_setup_facts *f, const struct nm_setup_plan *p,
                 struct nm_arena *a, char **ret_message);
