/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * launch_container.sh: bash runs this script, and the script then replaces itself by the container's command, with the
 * environment that the application has requested. The script has the format of ContainerLaunch and ContainerExecutor in
 * Hadoop 3.4.2. Values and the command are inside double quotes without escapes, so the shell expands a '$'.
 * Applications escape their values accordingly.
 */

#include <stdbool.h>
#include <stddef.h>

/* ---- the environment: env.c --------------------------------------------------------------- */

/*
 * The environment that a container's application has requested. Values may contain markers that only the node can
 * replace, and references to other variables as in a shell. Markers and references work as in ContainerLaunch of Hadoop
 * 3.4.2:
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

/* Sorts the variables so that each variable comes after the variables that its value refers to. Variables without such
 * a relation, and variables in a cycle, keep their order. Values are interpreted like text inside double quotes in a
 * shell. If two variables have the same name, the later variable counts. */
int nm_yarn_env_order(struct nm_yarn_env *env, size_t n);

/* ---- the script: script.c ----------------------------------------------------------------- */

/* A localized resource, and its name in the working directory. The name may contain directories. */
struct nm_yarn_link {
    const char *target, *name;
};

struct nm_yarn_launch {
    struct nm_yarn_markers markers;
    /* inherited: variables of nmd's own environment, which apply unless `node` or `asked` contains them. node:
     * variables of the node, which the application can't override. asked: variables of the application. */
    const struct nm_yarn_env *inherited, *node, *asked;
    size_t n_inherited, n_node, n_asked;
    const struct nm_yarn_link *links;
    size_t n_links;
    const char *lister; /* path of nm-shim, with which the script writes directory.info, a list of files, to the logs.
                           NULL: it writes no list */
    const char *const *command; /* at least one word, NULL-terminated */
};

/* Formats the script. The caller frees *ret. -EINVAL: the script can't be written; *ret_message (see nm_fail()) has the
 * reason. */
int nm_yarn_launch_script(const struct nm_yarn_launch *l, char **ret, char **ret_message);
