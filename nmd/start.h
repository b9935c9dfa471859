/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Starts nmd's parts. */

#include "nmd/parts.h"

/* Reads the configuration, takes the locks and makes the parts, for the event loop to run them. Logs why it fails. The
 * caller frees the parts with nm_daemon_done() in either case. */
int nm_daemon_start(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o);
