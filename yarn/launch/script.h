/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * launch_container.sh: the script that bash runs before it becomes the container's command, written like
 * ContainerLaunch and ContainerExecutor of Hadoop 3.4.2 write it. Values and the command stand inside double quotes
 * without escapes, so the shell expands a '$'. Applications escape their values accordingly.
 */

#include "yarn/launch/env.h"

/* A localized resource, and its name in the working directory. The name may contain directories. */
struct nm_yarn_link {
    const char *target, *name;
};

struct nm_yarn_launch {
    struct nm_yarn_markers markers;
    /* Variables of nmd's own environment, which apply unless node or asked have them; of the node, which the
     * application can't override; of the application. */
    const struct nm_yarn_env *inherited, *node, *asked;
    size_t n_inherited, n_node, n_asked;
    const struct nm_yarn_link *links;
    size_t n_links;
    bool debug_info; /* the script copies itself and a list of files, directory.info, to the logs */
    const char *const *command; /* words, NULL-terminated, at least one */
};

/* The caller frees *ret. -EINVAL: the script can't be written; *ret_message (see nm_fail()) has the reason. */
int nm_yarn_launch_script(const struct nm_yarn_launch *l, char **ret, char **ret_message);
