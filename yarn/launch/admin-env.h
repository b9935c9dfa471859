/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the administrator has all containers find in their environment, as Hadoop's Apps.setEnvFromInputProperty() has
 * it: yarn.nodemanager.admin-env is a list, and each property yarn.nodemanager.admin-env.NAME a variable that comes in
 * the place of the list's. $NAME in a value is a variable of the application's, or else of nmd's. What an application
 * has set itself is kept, and added to.
 */

#include <stddef.h>

#include "rpc/hadoop/arena.h"
#include "yarn/conf/properties.h"
#include "yarn/launch/env.h"

/* How many variables it can come to. */
size_t nm_yarn_admin_env_room(const struct nm_yarn_settings *s);
/* Adds them to the *n of the application in env. -ENOMEM. */
int nm_yarn_admin_env_put(const struct nm_yarn_settings *s, struct nm_arena *arena, struct nm_yarn_env *env, size_t *n);

/* Of two with the same name the later counts, as in a shell. NULL: none has it. */
struct nm_yarn_env *nm_yarn_env_find(struct nm_yarn_env *env, size_t n, const char *name);
