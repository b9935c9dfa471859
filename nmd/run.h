/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Runs nmd: sets the limits and the priority of the process, calls sd_notify() and runs the event loop. */

#include "nmd/parts.h"

/* Starts nmd and returns when its event loop has ended, 0 or an error that is logged. */
int nm_daemon_run(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o);
