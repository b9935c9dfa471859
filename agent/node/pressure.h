/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

struct nm_pressure *nm_pressure_new(void); /* NULL: out of memory */
struct nm_pressure *nm_pressure_free(struct nm_pressure *p);
/* Opens the slice's pressure files again if the slice was recreated. Called periodically. */
void nm_pressure_follow_slice(struct nm_manager *m);
void nm_pressure_watch(struct nm_manager *m); /* creates the watches again, with the current settings */
