/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nmd --check-config: reports each error for which nmd would refuse to start on this node. */

#include "nmd/parts.h"

/* Logs each error and returns a negative value, or prints that the configuration is fine. Creates and starts nothing,
 * and keeps no lock. */
int nm_daemon_check_config(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o);
