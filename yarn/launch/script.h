/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * launch_container.sh: what bash does before it becomes the container's command, as ContainerLaunch and
 * ContainerExecutor of Hadoop 3.4.2 write it. Values and the command stand inside double quotes and are not escaped: a
 * '$' is the shell's, and applications escape for that.
 */

#include "yarn/launch/env.h"

/* A resource that was localized, and its name in the working directory, which may have directories in it. */
struct nm_yarn_link {
    const char *target, *name;
};

struct nm_yarn_launch {
    struct nm_yarn_markers markers;
    const struct nm_yarn_env *inherited, *node, *asked; /* of the node's own environment, where nothing else was asked
                                                           for; the node's, which nobody overrides; the application's */
    size_t n_inherited, n_node, n_asked;
    const struct nm_yarn_link *links;
    size_t n_links;
    bool debug_info; /* leaves a copy of itself and directory.info, a list of files, among the logs */
    const char *const *command; /* words, NULL-terminated, at least one */
};

/* The caller frees *ret. -EINVAL: it can't be written, *ret_message (as nm_fail()) has the reason. */
int nm_yarn_launch_script(const struct nm_yarn_launch *l, char **ret, char **ret_message);
