/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Starts nmd's parts. */

#include "nmd/parts.h"

/* Reads the configuration, takes the locks, creates the parts and adds them to the event loop. Logs the reason of a
 * failure. The caller frees the parts with nm_daemon_done() in both cases. */
int nm_daemon_start(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o);
