/* SPDX-License-Identifier: Apache-2.0 */

/* See server.h. */

#include "spark/server.h"

#include <stdlib.h>

#include "shuffle/acceptor.h"
#include "spark/connection.h"
#include "util/clock.h"
#include "util/error.h"

struct nm_spark_server {
    struct nm_shuffle_acceptor *acceptor;
};

static int begin(int fd, const char *host, void *userdata)
{
    return nm_spark_connection_begin(userdata, fd, host);
}

static void tick(void *userdata)
{
    const struct nm_spark_service *s = userdata;

    nm_spark_data_files_expire(s->data_files, nm_now_usec());
}

static const struct nm_shuffle_acceptor_ops ops = {
    .begin = begin,
    .tick = tick,
    .ready = nm_spark_connection_ready,
    .expired = nm_spark_connection_expired,
    .answer = nm_spark_connection_answer,
    .end = nm_spark_connection_end,
};

int nm_spark_server_new(struct nm_spark_service *s, const struct nm_spark_listen *listen, struct nm_spark_server **ret,
                        char **ret_message)
{
    const struct nm_shuffle_acceptor_params params = {
        .address = listen->address, .backlog = (int)listen->backlog, .keeps_alive = listen->keeps_alive,
        .connections = s->connections, .ops = &ops, .userdata = s};
    _cleanup_(nm_spark_server_freep) struct nm_spark_server *server = calloc(1, sizeof *server);
    int r;

    if (!server)
        return -ENOMEM;
    if ((r = nm_shuffle_acceptor_new(&params, &server->acceptor, ret_message)) < 0)
        return r;
    s->loop = nm_shuffle_acceptor_loop(server->acceptor);
    if ((r = nm_shuffle_acceptor_start(server->acceptor)) < 0)
        return nm_fail(ret_message, r, "Can't start the server's thread: %s", strerror(-r));
    *ret = STEAL_PTR(server);
    return 0;
}

uint16_t nm_spark_server_port(const struct nm_spark_server *server)
{
    return nm_shuffle_acceptor_port(server->acceptor);
}

struct nm_spark_server *nm_spark_server_free(struct nm_spark_server *server)
{
    if (!server)
        return NULL;
    nm_shuffle_acceptor_free(server->acceptor);
    free(server);
    return NULL;
}
