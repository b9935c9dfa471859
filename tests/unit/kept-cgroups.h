/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of a restart: the fake cgroups outlive the manager that made them, below `cgroup` in the world's directory.
 * Link with $(kept_cgroups_wraps). Needs cmocka.h before it.
 */

#include "tests/unit/manager-world.h"

/* From the next nmd on that is begun in this world; w NULL: no longer. */
void kept_cgroups(struct manager_world *w);
/* One that nobody has told nmd of; populated and frozen are what its cgroup.events says. */
void kept_cgroups_add(struct manager_world *w, const char *id, bool populated, bool frozen);
/* What its cgroup.events says. */
void kept_cgroups_set(struct manager_world *w, const char *id, bool populated, bool frozen);
bool kept_cgroups_has(struct manager_world *w, const char *id);
