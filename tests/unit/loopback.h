/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Servers of tests on loopback. Include it after cmocka.h. */

#include <netinet/in.h>
#include <sys/socket.h>

#include "rpc/hadoop/server.h"

/* Returns a socket that listens on *port. If *port is 0, the kernel chooses the port, and *port is set to it. */
static inline int listen_on_loopback(uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(*port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
    socklen_t size = sizeof a;

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

/* Refuses the held call, if the server holds one, and frees the server, so that the client gets no answer. Returns
 * NULL. */
static inline struct nm_hadoop_server *end_rm(struct nm_hadoop_server *rm, struct nm_hadoop_call **held)
{
    struct nm_exception why;

    if (*held) {
        nm_exception_set(&why, NM_EXCEPTION_APPLICATION, NM_EXCEPTION_RETRY, "It goes.");
        nm_hadoop_call_refuse(*held, &why);
        *held = NULL;
    }
    return nm_hadoop_server_free(rm);
}
