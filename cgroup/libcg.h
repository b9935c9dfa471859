/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Wraps libcgroup in this project's error contract. Only libcg.c calls libcgroup; libcgroup's ECG* codes do not leave
 * libcg.c.
 */

#include <stdbool.h>

#include "cgroup/limits.h"

/* Makes libcgroup find the mounted hierarchies. Returns true if libcgroup works for the cgroup2 mount `root`: root has
 * controllers, and libcgroup sees each of them mounted there. Returns false on hybrid hosts, where libcgroup would make
 * the groups in the v1 hierarchies. */
bool nm_libcg_init(const char *root);

/* Names of groups are relative to the mount, without a leading slash ("nm.slice/nm-x.scope"). */
int nm_libcg_create(const char *name);
int nm_libcg_set(const char *name, const struct nm_limits_file *files, size_t n);
/* Removes a group. Returns -EBUSY if the group has processes or children, -ENOENT if the group does not exist. */
int nm_libcg_remove(const char *name);
