/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* What a container runs. Owned strings; argv and env are NULL-terminated. */
struct nm_command {
    char **argv;
    char **env;    /* "NAME=value"; the container's whole environment besides PATH, HOME, USER, LOGNAME, SHELL */
    char *workdir; /* "" = the user's home, or / */
    char *user;    /* login name */
    uid_t uid;
    gid_t gid;
    bool no_new_privs;
};

void nm_command_done(struct nm_command *c);
int nm_command_copy(const struct nm_command *c, struct nm_command *ret);
