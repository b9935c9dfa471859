/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Its submitter and administrators, and so nobody else may see it. who NULL: nmd itself. */
bool nm_access_may_touch(const struct nm_caller *who, const struct nm_container *c);
/* By id, by number, or by name: the one live container of that name, else the newest ended one. All return 0 or an
 * outcome with its problem. */
int nm_access_find(struct nm_manager *m, const struct nm_caller *who, const char *ref, struct nm_container **ret,
                   struct nm_problem *p);
/* What has ended, or is about to, can't be changed: the state is told, since it is the reason. */
int nm_access_find_live(struct nm_manager *m, const struct nm_caller *who, const char *id,
                        struct nm_live_container **ret,
                        struct nm_problem *p);
int nm_access_want_admin(const struct nm_caller *who, const char *thing, struct nm_problem *p);
