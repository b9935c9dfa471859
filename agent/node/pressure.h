/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

struct nm_pressure *nm_pressure_new(void); /* NULL: no memory */
struct nm_pressure *nm_pressure_free(struct nm_pressure *p);
/* Once in a while: a slice that was made anew has pressure files of its own. */
void nm_pressure_follow_slice(struct nm_manager *m);
void nm_pressure_watch(struct nm_manager *m); /* anew, with the settings of now */
