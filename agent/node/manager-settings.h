/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Computes the settings from c. On success takes ownership of c; on failure leaves the settings unchanged. */
int nm_settings_resettle(struct nm_manager *m, struct nm_config *c, char **ret_message);
/* Converts the container's vcores into shares of this node's CPUs again, since the size of a vcore changes with [node]
 * vcores and with the number of CPUs. Both may change while nmd runs or between two runs. Returns whether the
 * container's figures changed. */
bool nm_settings_scale(const struct nm_manager *m, struct nm_container *c);
/* Writes the reloaded keys whose new values only a restart applies, as nm_config_needs_restart() lists them. */
void nm_settings_restart_keys(const struct nm_manager *m, char *buf, size_t size);
/* Adapts the settings after a sample: CPUs are added and removed at run time, and so is memory (balloons, pools of huge
 * pages). */
void nm_settings_follow_node(struct nm_manager *m);
