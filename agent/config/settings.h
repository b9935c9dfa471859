/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Applies the configuration to this node: converts "auto" to numbers and vcores to millicores, and disables features
 * that the backend lacks.
 */

#include "agent/config/config.h"
#include "monitor/monitor.h"

/*
 * Computes *ret from the configuration, the node's memory and CPUs (from any sample) and the backend's features. Is
 * called at the start and at a reload.
 *
 * If an upstream has set a larger size, the capacity grows to this size, but not above the node's memory minus the
 * reserve. If an upstream has set a smaller size, only ret->offered shrinks. Running containers are always limited by
 * the capacity.
 *
 * The sum of capacity and reserve is always the node's size. So the reserve is the memory outside of the capacity,
 * whether it is excluded by system-reserved-* or by a small [node] memory.
 *
 * Returns 0, -ERANGE if the node is too small for the configuration (*ret_message has the numbers and is freed by the
 * caller), -ENODATA if the sample has no memory or CPUs, or -ENOMEM.
 */
int nm_config_policy_settings(const struct nm_config *c, const struct nm_node_sample *node,
                              const struct nm_cgroup_backend *backend,
                              struct nm_policy_settings *ret, char **ret_message);

/* Computes *ret like nm_config_policy_settings(), after the node's memory or CPUs have changed. A configured size that
 * is larger than the node now is not refused: it is reduced to the node's size, and a reserve is reduced to at most
 * half of the node's size. */
int nm_config_follow_node(const struct nm_config *c, const struct nm_node_sample *node,
                          const struct nm_cgroup_backend *backend, struct nm_policy_settings *ret);

/* Returns the node's configured size, without the size that an upstream has set. A configured size that is too large is
 * reduced as in nm_config_follow_node(). */
int nm_settings_configured(const struct nm_config *c, const struct nm_node_sample *node, struct nm_resources *ret,
                           uint32_t *ret_vcores_milli);

/* Limits of processes and threads for the slice and for one container. node_tasks: the kernel's limit for the node (0
 * if the limit is not known). NM_CGROUP_NONE: no limit. */
struct nm_task_limits {
    uint64_t slice, container;
};
struct nm_task_limits nm_settings_tasks(const struct nm_config *c, uint64_t node_tasks);

/* These functions return the maximum number of live containers, and of queued containers, of one user. */
uint32_t nm_settings_containers_per_user(const struct nm_config *c);
uint32_t nm_settings_queue_per_user(const struct nm_config *c);

/*
 * Returns whether guaranteed containers get their CPU without low CPU thresholds: the kernel gives opportunistic
 * containers only the CPU time that others leave, and nmd can detect and end stalls of guaranteed containers. *ret_why
 * (or NULL): a text with the explanation or the missing feature.
 */
bool nm_settings_cpu_is_guarded(const struct nm_config *c, const struct nm_cgroup_backend *backend,
                                const char **ret_why);

#define NM_SETTINGS_NOTES_MAX 8
/* Makes a note with the value of each key whose configured value is "auto". Returns the number of notes. */
size_t nm_settings_notes(const struct nm_config *c, const struct nm_node_sample *node,
                         const struct nm_cgroup_backend *backend, const struct nm_policy_settings *s,
                         const struct nm_task_limits *tasks,
                         struct nm_config_note notes[NM_SETTINGS_NOTES_MAX]);

/* Converts thousandths of a vcore to millicores. A vcore is (online CPUs / [node] vcores) CPUs. The result is rounded
 * down, so that all vcores together never exceed the node, but is at least 1 for a value above 0. */
uint64_t nm_settings_vcore_millicores(const struct nm_config *c, const struct nm_node_sample *node,
                                      uint32_t vcores_milli);

/* Converts millicores to thousandths of a vcore. The result is rounded to the nearest integer. */
uint32_t nm_settings_millicores_vcores(const struct nm_config *c, const struct nm_node_sample *node,
                                       uint64_t millicores);
