/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * launch_container.sh: the script that bash runs before it becomes the container's command, with the environment that
 * the application asked for. The script is written like ContainerLaunch and ContainerExecutor of Hadoop 3.4.2 write it.
 * Values and the command stand inside double quotes without escapes, so the shell expands a '$'. Applications escape
 * their values accordingly.
 */

#include <stdbool.h>
#include <stddef.h>

/* ---- the environment: env.c --------------------------------------------------------------- */

/*
 * The environment that a container's application asked for. Values may contain markers that only the node can replace,
 * and may refer to each other as in a shell. Markers and references work as in ContainerLaunch of Hadoop 3.4.2:
 *
 *   <LOG_DIR>      the container's log directory
 *   <CPS>          the separator of a class path: ':'
 *   <ADD_OPENS>    options that Java 17 and later need to run Hadoop; empty for an older Java
 *   {{NAME}}       $NAME
 */

struct nm_yarn_env {
    const char *name, *value;
};

struct nm_yarn_markers {
    const char *log_dir, *add_opens;
};

/* Returns the text with its markers replaced. The caller frees it. */
int nm_yarn_expand(const char *text, const struct nm_yarn_markers *markers, char **ret);

/* Returns true if a shell variable can have this name. */
bool nm_yarn_env_is_name(const char *name);

/* Sorts the variables so that each variable follows those that its value refers to. Otherwise, and within a cycle, the
 * order is kept. Values are read as by a shell inside double quotes. Of two variables with the same name, the later one
 * counts. */
int nm_yarn_env_order(struct nm_yarn_env *env, size_t n);

/* ---- the script: script.c ----------------------------------------------------------------- */

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
