/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of a restart: the fake cgroups outlive the manager that made them, below `cgroup` in the fixture's
 * directory. Link with $(persistent_cgroups_wraps). Include it after cmocka.h.
 */

#include "tests/unit/manager-fixture.h"

/* Keeps the cgroups of the managers that this fixture makes from now on. w NULL: from now on each manager removes
 * its cgroups at its end. */
void persistent_cgroups(struct manager_fixture *w);
/* Adds a cgroup that nmd does not know. populated and frozen are the values in the cgroup's cgroup.events. */
void persistent_cgroups_add(struct manager_fixture *w, const char *id, bool populated, bool frozen);
/* Sets the values in the cgroup's cgroup.events. */
void persistent_cgroups_set(struct manager_fixture *w, const char *id, bool populated, bool frozen);
bool persistent_cgroups_has(struct manager_fixture *w, const char *id);
