/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Environment variables that the administrator sets for all containers, as Hadoop's Apps.setEnvFromInputProperty()
 * does: yarn.nodemanager.admin-env is a list, and each property yarn.nodemanager.admin-env.NAME replaces the variable
 * of that name in the list. $NAME in a value refers to a variable of the application, or else of nmd. A variable that
 * the application has set is kept, and the administrator's value is appended.
 */

#include <stddef.h>

#include "rpc/hadoop/arena.h"
#include "yarn/conf/properties.h"
#include "yarn/launch/env.h"

/* Returns the maximum number of variables. */
size_t nm_yarn_admin_env_room(const struct nm_yarn_settings *s);
/* Adds the variables to the application's *n variables in env. -ENOMEM. */
int nm_yarn_admin_env_put(const struct nm_yarn_settings *s, struct nm_arena *arena, struct nm_yarn_env *env, size_t *n);

/* Finds a variable. Of two variables with the same name the later counts, as in a shell. Returns NULL if no variable
 * has this name. */
struct nm_yarn_env *nm_yarn_env_find(struct nm_yarn_env *env, size_t n, const char *name);
