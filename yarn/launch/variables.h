/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Builds the environment and the command of a container's script (script.h). The links are built elsewhere. */

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
