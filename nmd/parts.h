/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nmd's command line, the parts of a running nmd, and the parameters with which they are created or checked. */

#include <limits.h>
#include <sys/socket.h>

#include "agent/daemon.h"
#include "cgroup/cgroup.h"
#include "rpc/local/server.h"
#include "yarn/setup/setup.h"
#include "yarn/yarn.h"

/* ---- options.c ------------------------------------------------------------------------------- */

struct nm_daemon_options {
    const char *config, *socket, *state_dir, *runtime_dir, *slice, *shim, *node_proc, *record, *yarn_conf, *migrate_dir;
    struct nm_yarn_setup_options setup;
    enum nm_cgroup_backend_kind backend;
    bool check_config, as_json, config_given, state_given;
    int listen_fd; /* the socket that systemd passed, or negative */
};

/* Parses the options and sets the log level. Checks only what does not depend on the node. Returns 0 to continue, 1
 * after --help or --version, or -EINVAL after a message. */
int nm_daemon_parse_argv(int argc, char **argv, struct nm_daemon_options *o);

/* Buffers for the defaults that depend on the user and on the place where nmd is installed. */
struct nm_daemon_paths {
    char state_dir[PATH_MAX], runtime_dir[PATH_MAX], shim[PATH_MAX], socket[PATH_MAX];
};

/* Sets the options that aren't given. Their values point into `paths`, which must be valid as long as the options. */
void nm_daemon_fill_defaults(struct nm_daemon_paths *paths, struct nm_daemon_options *o);
/* Stores the path of another program of nmd, such as "nm-localizer", in `buf` and returns it. The program may be
 * missing. */
const char *nm_daemon_find_program(const char *name, char buf[static PATH_MAX]);

/* ---- parts.c --------------------------------------------------------------------------------- */

struct nm_daemon {
    struct nm_manager *manager;
    struct nm_listener *listener; /* the socket of the local interface, until the server takes it over */
    struct nm_local_server *server;
    struct nm_yarn_settings *yarn_settings; /* NULL, like `yarn`, if nmd is not a node of a cluster */
    struct nm_yarn *yarn;
    bool signs_off; /* the node unregisters from its cluster before nmd ends */
};

void nm_daemon_done(struct nm_daemon *d);

struct nm_manager_params nm_daemon_manager_params(struct nm_daemon *d, sd_event *event,
                                                  const struct nm_daemon_options *o, struct nm_config *config);
/* Returns the parameters without `listener`. */
struct nm_local_server_params nm_daemon_server_params(const struct nm_daemon_options *o, const struct nm_config *c);

/* Buffers to which the parameters of nm_daemon_yarn_params() point. */
struct nm_daemon_yarn_buffers {
    char localizer[PATH_MAX], uploader[PATH_MAX], shuffle[PATH_MAX], spark[PATH_MAX];
    struct sockaddr_storage http;
};

/* Returns the parameters of the part for YARN. config: NULL at a start, because the server then knows its address.
 * --check-config starts no server, so it passes the configuration. */
struct nm_yarn_params nm_daemon_yarn_params(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o,
                                            const struct nm_config *config, struct nm_daemon_yarn_buffers *buffers);

/* Checks whether the server could start, and logs each reason why it could not. beside_another: another nmd may listen
 * on the socket. */
int nm_daemon_check_server(const struct nm_daemon_options *o, const struct nm_config *c, bool beside_another);

/* ---- messages -------------------------------------------------------------------------------- */

#define NM_DAEMON_NO_START "can't start"
#define NM_DAEMON_NO_SERVER "can't open the local interface"
#define NM_DAEMON_NO_NODE "can't be a node of a YARN cluster"
#define NM_DAEMON_NO_CONFIG "the configuration is refused"

/* Logs an error if r is negative: each line of the message with the prefix `what`, one of the strings above. Without a
 * message, logs strerror() of r. Returns r. */
int nm_daemon_refuse(const char *what, int r, const char *message);
/* Logs a sentence from yarn/. */
void nm_daemon_report_yarn(int level, const char *sentence);
void nm_daemon_warn_of_yarn(const char *sentence, void *userdata);

/* ---- start.c --------------------------------------------------------------------------------- */

/* Reads the configuration, takes the locks, creates the parts and adds them to the event loop. Logs the reason of a
 * failure. The caller frees the parts with nm_daemon_done() in both cases. */
int nm_daemon_start(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o);

/* ---- check-config.c -------------------------------------------------------------------------- */

/* Implements --check-config. If nmd would refuse to start on this node, logs each error and returns a negative value.
 * Otherwise prints that the configuration is valid. Creates and starts nothing, and holds no lock afterwards. */
int nm_daemon_check_config(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o);
