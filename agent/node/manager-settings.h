/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Settings from c, or nothing has changed. Takes c, on success only. */
int nm_settings_resettle(struct nm_manager *m, struct nm_config *c, char **ret_message);
/* What was asked for in vcores is as many shares of this node's CPUs, and a vcore may have become another share:
 * [node] vcores or the CPUs have changed, while nmd ran or since. Returns whether it made a difference. */
bool nm_settings_scale(const struct nm_manager *m, struct nm_container *c);
/* Keys that were reloaded with another value and that only a restart applies, as nm_config_needs_restart() has them. */
void nm_settings_restart_keys(const struct nm_manager *m, char *buf, size_t size);
/* After a sample: CPUs come and go, and so does memory (balloons, pools of huge pages). */
void nm_settings_follow_node(struct nm_manager *m);
