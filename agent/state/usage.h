/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Who is there, what is promised, and what U is made of: the members of *ret that say so, and no others. */
void nm_usage_fill(const struct nm_manager *m, struct nm_status *ret);
