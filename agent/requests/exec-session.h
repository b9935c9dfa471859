/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

struct nm_sessions *nm_sessions_new(void); /* NULL: out of memory */
/* Called when nmd ends. Commands that have started keep running. */
struct nm_sessions *nm_sessions_free(struct nm_sessions *all);
unsigned nm_sessions_count(const struct nm_sessions *all);
