/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Returns whether the caller may see and change the container: only its submitter and administrators may. who NULL: nmd
 * itself. */
bool nm_access_may_touch(const struct nm_caller *who, const struct nm_container *c);
/* Finds a container by id, by number or by name. A name selects the only live container of that name, or else the
 * newest ended container of that name. The functions below return 0, or an outcome with its problem. */
int nm_access_find(struct nm_manager *m, const struct nm_caller *who, const char *ref, struct nm_container **ret,
                   struct nm_problem *p);
/* Finds a container that can be changed. A container that has ended or is being killed is refused, with its state in
 * the message. */
int nm_access_find_live(struct nm_manager *m, const struct nm_caller *who, const char *id,
                        struct nm_live_container **ret,
                        struct nm_problem *p);
int nm_access_want_admin(const struct nm_caller *who, const char *thing, struct nm_problem *p);
