/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The environment that a container's application asked for. Values may have markers that only the node can fill in, and
 * may name each other as a shell does; both as ContainerLaunch of Hadoop 3.4.2 has it:
 *
 *   <LOG_DIR>      the container's log directory
 *   <CPS>          what stands between the parts of a class path: ':'
 *   <ADD_OPENS>    options that Java 17 and later need to run Hadoop; nothing for an older one
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

/* The text with its markers filled in; the caller frees it. */
int nm_yarn_expand(const char *text, const struct nm_yarn_markers *markers, char **ret);

/* Can a shell have a variable of that name? */
bool nm_yarn_env_is_name(const char *name);

/* Puts them into an order in which each comes behind those that its value names; as far as that can be, and else as
 * they stood. Values are as a shell sees them inside double quotes. Of two with the same name the later counts. */
int nm_yarn_env_order(struct nm_yarn_env *env, size_t n);
