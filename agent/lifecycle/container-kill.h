/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

void nm_kill_all(struct nm_live_container *l); /* sends SIGKILL now */
void nm_kill_terminate(struct nm_live_container *l); /* sends SIGTERM, then SIGKILL after the grace period */
/* Sends the signal to all processes but the shim: to the first ones now, to the others in later turns. A signal that
 * comes meanwhile is sent after it, once. Returns 0 or -errno. */
int nm_kill_signal(struct nm_live_container *l, int signo);
