/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of a running nmd, and the parameters that they are made or checked with. */

#include <limits.h>
#include <sys/socket.h>

#include "agent/daemon.h"
#include "nmd/options.h"
#include "rpc/local/server.h"
#include "yarn/yarn.h"

struct nm_daemon {
    struct nm_manager *manager;
    struct nm_local_server *server;
    struct nm_yarn_settings *yarn_settings; /* NULL where nmd is no node of a cluster, as is `yarn` */
    struct nm_yarn *yarn;
    bool signs_off; /* from the cluster, before nmd ends */
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

/* config: NULL at a start, when the server knows its address. --check-config, which starts no server, passes it. */
struct nm_yarn_params nm_daemon_yarn_params(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o,
                                            const struct nm_config *config, struct nm_daemon_yarn_buffers *buffers);

/* Checks whether the server would be refused, and logs why. beside_another: another nmd may listen on the socket. */
int nm_daemon_check_server(const struct nm_daemon_options *o, const struct nm_config *c, bool beside_another);
