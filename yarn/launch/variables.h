/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Makes the environment and the command of a container's script (script.h). The environment includes the variables of
 * the node and of its administrator. prepare.c adds the links. */

#include "yarn/launch/dirs.h"
#include "yarn/launch/launcher.h"
#include "yarn/launch/script.h"

struct nm_yarn_variable_sources {
    const struct nm_yarn_settings *settings;
    const struct nm_yarn_dirs *local, *log;
    int64_t java_version;
    const char *counters; /* value of the variable LOCALIZATION_COUNTERS */
    const char *lister;   /* nm-shim's path; a relative path can't be used, and may be NULL */
};

/* Fills in markers, environment and command. They point to data in the arena or in the arguments. -EINVAL and
 * *ret_message: the command is missing, or a variable is invalid. */
int nm_yarn_variables(const struct nm_yarn_variable_sources *s, const struct nm_yarn_task *t, struct nm_arena *arena,
                      struct nm_yarn_launch *ret, char **ret_message);

/* Returns the Java version in the text of a file $JAVA_HOME/release. 0: unknown. */
int64_t nm_yarn_java_version(const char *release);

/* ---- the administrator's variables: admin-env.c ------------------------------------------- */

/*
 * Environment variables that the administrator sets for all containers, as in Hadoop's Apps.setEnvFromInputProperty().
 * yarn.nodemanager.admin-env is a list of variables. Each property yarn.nodemanager.admin-env.NAME replaces the
 * variable NAME in the list. $NAME in a value refers to a variable of the application. If the application doesn't set
 * NAME, $NAME refers to nmd's own variable. If the application has set the same variable, the administrator's value is
 * appended to the application's value.
 */

/* Returns the maximum number of variables. */
size_t nm_yarn_admin_env_room(const struct nm_yarn_settings *s);
/* Adds the variables to the *n variables of the application in env. -ENOMEM. */
int nm_yarn_admin_env_put(const struct nm_yarn_settings *s, struct nm_arena *arena, struct nm_yarn_env *env, size_t *n);

/* Finds a variable by its name. If two variables have the same name, the later one counts, as in a shell. NULL: there
 * is no variable with this name. */
struct nm_yarn_env *nm_yarn_env_find(struct nm_yarn_env *env, size_t n, const char *name);
