/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The environment that a container's application asked for. Values may contain markers that only the node can replace,
 * and may refer to each other as in a shell. Markers and references work as in ContainerLaunch of Hadoop 3.4.2:
 *
 *   <LOG_DIR>      the container's log directory
 *   <CPS>          the separator of a class path: ':'
 *   <ADD_OPENS>    options that Java 17 and later need to run Hadoop; empty for an older Java
 *   {{NAME}}       $NAME
 */

#include <stdbool.h>
#include <stddef.h>

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
