/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the cgroup2 hierarchy is and where we are in it. The /proc files are parameters, for tests.
 */

/* The cgroup2 mount point, allocated: the first that has controllers, else the first at all.
 * -ENOENT: there is none. */
int nm_mount_find(const char *mountinfo, char **ret);

/* Our own place in the hierarchy ("/user.slice/..."; the "0::" line), allocated. -ENOENT: no such
 * line. */
int nm_mount_own_cgroup(const char *proc_self_cgroup, char **ret);
