/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the cgroup2 hierarchy and the cgroup of this process. The /proc files are parameters so that tests can replace
 * them.
 */

/* Finds the cgroup2 mount point: the first mount that has controllers, else the first of all. The caller frees *ret.
 * Returns -ENOENT if cgroup2 is not mounted. */
int nm_mount_find(const char *mountinfo, char **ret);

/* Finds the cgroup of this process (the "0::" line, "/user.slice/..."). The caller frees *ret. Returns -ENOENT if there
 * is no such line. */
int nm_mount_own_cgroup(const char *proc_self_cgroup, char **ret);
