/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the configuration means on this node: "auto" becomes numbers, vcores become millicores, and
 * what the backend can't do is switched off.
 */

#include "agent/config/config.h"
#include "monitor/monitor.h"

/*
 * Fills *ret from the configuration, the node's memory and CPUs (of any sample of it) and the
 * backend's features. Call it at start, at reload, and when memory or CPUs of the node have
 * changed.
 *
 * Capacity and reserve always add up to the node: what the capacity leaves is the rest of the
 * system's, whether it was left by system-reserved-* or by a smaller [node] memory.
 *
 * 0, -ERANGE when the node is too small for what the configuration says (*ret_message tells the
 * numbers; the caller's to free), -ENODATA when the sample names no memory or CPUs, or -ENOMEM.
 */
int nm_config_policy_settings(const struct nm_config *c, const struct nm_node_sample *node,
                              const struct nm_cgroup_backend *backend,
                              struct nm_policy_settings *ret, char **ret_message);

/* Thousandths of a vcore in physical millicores; a vcore is (online CPUs / [node] vcores) CPUs.
 * Rounded down, so that all vcores together are never more than the node, but at least 1 for more
 * than nothing. */
uint64_t nm_settings_vcore_millicores(const struct nm_config *c, const struct nm_node_sample *node,
                                      uint32_t vcores_milli);

/* The other way, to the nearest thousandth. */
uint32_t nm_settings_millicores_vcores(const struct nm_config *c, const struct nm_node_sample *node,
                                       uint64_t millicores);
