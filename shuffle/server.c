/* SPDX-License-Identifier: Apache-2.0 */

/* See server.h. */

#include "shuffle/server.h"

#include <stdlib.h>

#include "shuffle/acceptor.h"
#include "shuffle/connection.h"
#include "util/error.h"

struct nm_shuffle_server {
    struct nm_shuffle_acceptor *acceptor;
};

static int begin(int fd, const char *host, void *userdata)
{
    return nm_shuffle_connection_begin(userdata, fd, host);
}

static const struct nm_shuffle_acceptor_ops ops = {
    .begin = begin,
    .ready = nm_shuffle_connection_ready,
    .expired = nm_shuffle_connection_expired,
    .answer = nm_shuffle_connection_answer,
    .end = nm_shuffle_connection_end,
};

int nm_shuffle_server_new(struct nm_shuffle_service *s, const char *address, struct nm_shuffle_server **ret,
                          char **ret_message)
{
    _cleanup_(nm_shuffle_server_freep) struct nm_shuffle_server *server = calloc(1, sizeof *server);
    const struct nm_shuffle_acceptor_params params = {
        .address = address, .connections = s->connections, .ops = &ops, .userdata = s};
    int r;

    if (!server)
        return -ENOMEM;
    if ((r = nm_shuffle_acceptor_new(&params, &server->acceptor, ret_message)) < 0)
        return r;
    s->loop = nm_shuffle_acceptor_loop(server->acceptor);
    s->port = nm_shuffle_acceptor_port(server->acceptor);
    if ((r = nm_shuffle_acceptor_start(server->acceptor)) < 0)
        return nm_fail(ret_message, r, "Can't start the server's thread: %s", strerror(-r));
    *ret = STEAL_PTR(server);
    return 0;
}

struct nm_shuffle_server *nm_shuffle_server_free(struct nm_shuffle_server *server)
{
    if (!server)
        return NULL;
    nm_shuffle_acceptor_free(server->acceptor);
    free(server);
    return NULL;
}
