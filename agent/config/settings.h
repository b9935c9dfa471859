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
 * backend's features. Call it at start and at reload.
 *
 * An upstream that wants a larger node gets it, as far as the node has memory beyond the reserve: the capacity is then
 * larger. One that wants a smaller node gets a smaller `offered`, and the capacity stays: what runs is held to that.
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

/* The same when memory or CPUs of the node have changed meanwhile. What was right when it was
 * configured is not refused now: it shrinks to what there is, a reserve to half of that at most. */
int nm_config_follow_node(const struct nm_config *c, const struct nm_node_sample *node,
                          const struct nm_cgroup_backend *backend, struct nm_policy_settings *ret);

/* What the keys alone come to on this node, whatever an upstream wants: as nm_config_follow_node() has it. */
int nm_settings_configured(const struct nm_config *c, const struct nm_node_sample *node, struct nm_resources *ret,
                           uint32_t *ret_vcores_milli);

/* Processes and threads that the slice and one container may have, of node_tasks that the kernel takes at all (0: that
 * isn't known). NM_CGROUP_NONE: no limit. */
struct nm_task_limits {
    uint64_t slice, container;
};
struct nm_task_limits nm_settings_tasks(const struct nm_config *c, uint64_t node_tasks);

/* How many containers one user may have, and how many of them in the queue. */
uint32_t nm_settings_containers_per_user(const struct nm_config *c);
uint32_t nm_settings_queue_per_user(const struct nm_config *c);

/*
 * The host holds the promise of CPU by itself: the kernel gives opportunistic containers only what
 * others leave, and what guaranteed ones feel of them can be seen and ended. *ret_why (or NULL): that,
 * or what is missing, in words.
 */
bool nm_settings_cpu_is_guarded(const struct nm_config *c, const struct nm_cgroup_backend *backend,
                                const char **ret_why);

/* What each "auto" of the configuration came to. Returns how many there are. */
#define NM_SETTINGS_NOTES_MAX 8
size_t nm_settings_notes(const struct nm_config *c, const struct nm_node_sample *node,
                         const struct nm_cgroup_backend *backend, const struct nm_policy_settings *s,
                         const struct nm_task_limits *tasks,
                         struct nm_config_note notes[NM_SETTINGS_NOTES_MAX]);

/* Thousandths of a vcore in physical millicores; a vcore is (online CPUs / [node] vcores) CPUs.
 * Rounded down, so that all vcores together are never more than the node, but at least 1 for more
 * than nothing. */
uint64_t nm_settings_vcore_millicores(const struct nm_config *c, const struct nm_node_sample *node,
                                      uint32_t vcores_milli);

/* The other way, to the nearest thousandth. */
uint32_t nm_settings_millicores_vcores(const struct nm_config *c, const struct nm_node_sample *node,
                                       uint64_t millicores);
