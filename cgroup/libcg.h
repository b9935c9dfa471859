/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * libcgroup, behind our error contract. Everything that calls it is in libcg.c; its ECG* codes end
 * there.
 */

#include <stdbool.h>

#include "cgroup/limits.h"

/* Lets libcgroup discover the mounted hierarchies. Returns true when it serves for the cgroup2
 * mount root: root has controllers and libcgroup knows each as mounted right there. False on hybrid
 * hosts: there it would make our groups in the v1 hierarchies. */
bool nm_libcg_init(const char *root);

/* Groups are named relative to the mount, without a leading slash ("nm.slice/nm-x.scope"). */
int nm_libcg_create(const char *name);
int nm_libcg_set(const char *name, const struct nm_limits_file *files, size_t n);
/* Removes the group if it has neither processes nor children. -EBUSY: it has. -ENOENT: it isn't
 * there. */
int nm_libcg_remove(const char *name);
