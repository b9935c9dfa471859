/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nmd's signal handlers: SIGHUP reads the configuration again, SIGTERM and SIGINT end the event loop. */

#include "nmd/parts.h"

/* Blocks the signals and lets the event loop receive them. Returns 0 or -errno. */
int nm_daemon_watch_signals(sd_event *event, struct nm_daemon *d);
