/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nmd's command line, and the default paths of its directories, socket and programs. */

#include <limits.h>

#include "cgroup/cgroup.h"
#include "yarn/setup/setup.h"

struct nm_daemon_options {
    const char *config, *socket, *state_dir, *runtime_dir, *slice, *shim, *node_proc, *record, *yarn_conf;
    struct nm_yarn_setup_options setup;
    enum nm_cgroup_backend_kind backend;
    bool check_config, config_given, state_given;
    int listen_fd; /* the socket that systemd passed, or negative */
};

/* Parses the options and sets the log level. Checks only what does not depend on the node. Returns 0 to continue, 1
 * after --help or --version, or -EINVAL after a message. */
int nm_daemon_parse_argv(int argc, char **argv, struct nm_daemon_options *o);

/* Holds the defaults that depend on the user and on where nmd is installed. */
struct nm_daemon_paths {
    char state_dir[PATH_MAX], runtime_dir[PATH_MAX], shim[PATH_MAX], socket[PATH_MAX];
};

/* Sets the options that are not given. They point into `paths`, which must last as long. */
void nm_daemon_fill_defaults(struct nm_daemon_paths *paths, struct nm_daemon_options *o);
/* Stores the path of another program of nmd, such as "nm-localizer", in `buf` and returns it. The program may be
 * missing. */
const char *nm_daemon_find_program(const char *name, char buf[static PATH_MAX]);
