/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nmd's command line. */

#include "cgroup/cgroup.h"
#include "yarn/setup/command.h"

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
