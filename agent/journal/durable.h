/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

struct nm_durable *nm_durable_new(void); /* NULL: out of memory */
struct nm_durable *nm_durable_free(struct nm_durable *d);
void nm_durable_save(struct nm_manager *m); /* saves changes since the last call; the call is cheap without changes */
void nm_durable_save_app(struct nm_manager *m, uint32_t app);
void nm_durable_save_drain(struct nm_manager *m);
void nm_durable_save_all(struct nm_manager *m); /* saves everything into a new journal */
void nm_durable_load(struct nm_manager *m);
