/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Applies the configuration to this node: converts "auto" to numbers and vcores to millicores, and disables features
 * that the backend lacks.
 */

#include "agent/config/config.h"
#include "monitor/monitor.h"

/*
 * Fills *ret from the configuration, the node's memory and CPUs (from any sample) and the backend's features. Call it
 * at startup and at reload.
 *
 * If an upstream wants a larger node, the capacity grows as far as the node has memory beyond the reserve. If it wants
 * a smaller node, `offered` shrinks and the capacity stays; running containers are limited by the capacity.
 *
 * Capacity and reserve always add up to the node: memory outside of the capacity belongs to the rest of the system,
 * whether system-reserved-* or a smaller [node] memory excludes it.
 *
 * Returns 0, -ERANGE if the node is too small for the configuration (*ret_message has the numbers and is freed by the
 * caller), -ENODATA if the sample has no memory or CPUs, or -ENOMEM.
 */
int nm_config_policy_settings(const struct nm_config *c, const struct nm_node_sample *node,
                              const struct nm_cgroup_backend *backend,
                              struct nm_policy_settings *ret, char **ret_message);

/* Fills *ret like nm_config_policy_settings(), after the node's memory or CPUs have changed. Values that were
 * valid at startup are not refused now. They shrink to the node's new size, and a reserve shrinks to at most half
 * of that size. */
int nm_config_follow_node(const struct nm_config *c, const struct nm_node_sample *node,
                          const struct nm_cgroup_backend *backend, struct nm_policy_settings *ret);

/* Returns the node's size according to the keys alone, without an upstream's wish, adapted to the node as
 * nm_config_follow_node() does. */
int nm_settings_configured(const struct nm_config *c, const struct nm_node_sample *node, struct nm_resources *ret,
                           uint32_t *ret_vcores_milli);

/* Limits of processes and threads for the slice and for one container. node_tasks: the kernel's limit for the node (0
 * if the limit is not known). NM_CGROUP_NONE: no limit. */
struct nm_task_limits {
    uint64_t slice, container;
};
struct nm_task_limits nm_settings_tasks(const struct nm_config *c, uint64_t node_tasks);

/* Return the number of containers that one user may have, in total and in the queue. */
uint32_t nm_settings_containers_per_user(const struct nm_config *c);
uint32_t nm_settings_queue_per_user(const struct nm_config *c);

/*
 * Returns whether the host keeps the promise of CPU by itself: the kernel gives opportunistic containers only the CPU
 * time that others leave, and nmd can detect and end the stalls of guaranteed containers. *ret_why (or NULL): the
 * explanation, or the missing feature, in words.
 */
bool nm_settings_cpu_is_guarded(const struct nm_config *c, const struct nm_cgroup_backend *backend,
                                const char **ret_why);

/* Lists the value of each "auto" of the configuration. Returns the number of notes. */
#define NM_SETTINGS_NOTES_MAX 8
size_t nm_settings_notes(const struct nm_config *c, const struct nm_node_sample *node,
                         const struct nm_cgroup_backend *backend, const struct nm_policy_settings *s,
                         const struct nm_task_limits *tasks,
                         struct nm_config_note notes[NM_SETTINGS_NOTES_MAX]);

/* Converts thousandths of a vcore to physical millicores; a vcore is (online CPUs / [node] vcores) CPUs. Rounds down,
 * so that all vcores together never exceed the node, but a value above 0 gives at least 1. */
uint64_t nm_settings_vcore_millicores(const struct nm_config *c, const struct nm_node_sample *node,
                                      uint32_t vcores_milli);

/* Converts millicores to thousandths of a vcore, rounded to the nearest. */
uint32_t nm_settings_millicores_vcores(const struct nm_config *c, const struct nm_node_sample *node,
                                       uint64_t millicores);
