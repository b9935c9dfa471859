/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The command that runs auxiliary services in Java (aux-host/README): the java program, its arguments and its
 * environment. */

#include <stddef.h>

#include "util/error.h"
#include "yarn/conf/settings.h"

struct nm_yarn_aux_command {
    char *java;        /* path of the program */
    char **argv, **env; /* NULL-terminated */
};

/* Makes the command. dir: the directory of the process (aux-dirs.h). -ENOENT and *ret_message: Java, nmd's jar or
 * Hadoop's jars are missing. */
int nm_yarn_aux_command_make(const struct nm_yarn_settings *s, const char *dir, struct nm_yarn_aux_command *ret,
                             char **ret_message);
void nm_yarn_aux_command_done(struct nm_yarn_aux_command *c);
