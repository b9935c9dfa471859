/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Parts of a running nmd, and the parameters with which they are created or checked. */

#include <limits.h>
#include <sys/socket.h>

#include "agent/daemon.h"
#include "nmd/options.h"
#include "rpc/local/server.h"
#include "yarn/yarn.h"

struct nm_daemon {
    struct nm_manager *manager;
    struct nm_local_server *server;
    struct nm_yarn_settings *yarn_settings; /* NULL, like `yarn`, if nmd is not a node of a cluster */
    struct nm_yarn *yarn;
    bool signs_off; /* the node unregisters from its cluster before nmd ends */
};

void nm_daemon_done(struct nm_daemon *d);

struct nm_manager_params nm_daemon_manager_params(struct nm_daemon *d, sd_event *event,
                                                  const struct nm_daemon_options *o, struct nm_config *config);
struct nm_local_server_params nm_daemon_server_params(const struct nm_daemon_options *o, const struct nm_config *c);

/* Holds values to which the parameters of nm_daemon_yarn_params() point. */
struct nm_daemon_yarn_buffers {
    char localizer[PATH_MAX], shuffle[PATH_MAX];
    struct sockaddr_storage http;
};

/* config: NULL at a start, where the server knows its address. --check-config starts no server, so it passes the
 * configuration. */
struct nm_yarn_params nm_daemon_yarn_params(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o,
                                            const struct nm_config *config, struct nm_daemon_yarn_buffers *buffers);

/* Checks whether the server could start, and logs each reason against it. beside_another: another nmd may listen on
 * the socket. */
int nm_daemon_check_server(const struct nm_daemon_options *o, const struct nm_config *c, bool beside_another);
