/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

void nm_kill_all(struct nm_live_container *l); /* sends SIGKILL now */
void nm_kill_terminate(struct nm_live_container *l); /* sends SIGTERM, then SIGKILL after the grace period */
