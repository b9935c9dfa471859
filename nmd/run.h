/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A run of nmd: limits and priority of the process, its signals, sd_notify() and the event loop. */

#include "nmd/parts.h"

/* Starts nmd and returns when its event loop has ended, 0 or an error that is logged. */
int nm_daemon_run(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o);
