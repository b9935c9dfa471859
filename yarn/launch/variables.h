/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Builds the environment and the command of a container's script (script.h), with the variables of the node and of its
 * administrator. The links are built elsewhere. */

#include "yarn/launch/dirs.h"
#include "yarn/launch/launcher.h"
#include "yarn/launch/script.h"

struct nm_yarn_surroundings {
    const struct nm_yarn_settings *settings;
    const struct nm_yarn_dirs *local, *log;
    int64_t java_version;
    const char *counters; /* value of the variable LOCALIZATION_COUNTERS */
};

/* Fills in markers, environment and command. The data is in the arena or in the arguments. -EINVAL and *ret_message:
 * the command is missing, or a variable is invalid. */
int nm_yarn_variables(const struct nm_yarn_surroundings *s, const struct nm_yarn_task *t, struct nm_arena *arena,
                      struct nm_yarn_launch *ret, char **ret_message);

/* Returns the Java version that a file $JAVA_HOME/release states. 0: unknown. */
int64_t nm_yarn_java_version(const char *release);

/* ---- the administrator's variables: admin-env.c ------------------------------------------- */

/*
 * Environment variables that the administrator sets for all containers, as Hadoop's Apps.setEnvFromInputProperty()
 * does: yarn.nodemanager.admin-env is a list, and each property yarn.nodemanager.admin-env.NAME replaces the variable
 * of that name in the list. $NAME in a value refers to a variable of the application, or else of nmd. A variable that
 * the application has set is kept, and the administrator's value is appended.
 */

/* Returns the maximum number of variables. */
size_t nm_yarn_admin_env_room(const struct nm_yarn_settings *s);
/* Adds the variables to the application's *n variables in env. -ENOMEM. */
int nm_yarn_admin_env_put(const struct nm_yarn_settings *s, struct nm_arena *arena, struct nm_yarn_env *env, size_t *n);

/* Finds a variable. Of two variables with the same name the later counts, as in a shell. Returns NULL if no variable
 * has this name. */
struct nm_yarn_env *nm_yarn_env_find(struct nm_yarn_env *env, size_t n, const char *name);
