/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of a container's script (script.h) but for its links: what it finds in its environment. */

#include "yarn/launch/dirs.h"
#include "yarn/launch/launcher.h"
#include "yarn/launch/script.h"

struct nm_yarn_surroundings {
    const struct nm_yarn_settings *settings;
    const struct nm_yarn_dirs *local, *log;
    int64_t java_version;
    const char *counters; /* LOCALIZATION_COUNTERS */
};

/* Fills in markers, environment and command; all of it is in the arena, or was there before. -EINVAL and *ret_message:
 * there is no command, or a variable isn't one. */
int nm_yarn_variables(const struct nm_yarn_surroundings *s, const struct nm_yarn_task *t, struct nm_arena *arena,
                      struct nm_yarn_launch *ret, char **ret_message);

/* Which Java a file $JAVA_HOME/release speaks of; 0: none that can be recognized. */
int64_t nm_yarn_java_version(const char *release);
