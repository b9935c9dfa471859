/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The connections of a server: their number is limited, and slow ones are closed.
 */

#include <sys/socket.h>

#include "rpc/local/host.h"

struct nm_connections {
    struct nm_host *host;
    gid_t admin_gid;
    unsigned n, max, n_tcp;
    struct nm_connection *first;
};

/* Creates a connection for an accepted socket and identifies its client. Fails if the client has already disconnected
 * or if there is no place, in which case the client receives an answer (-EUSERS). The socket stays the caller's in any
 * case. */
int nm_connections_add(struct nm_connections *all, int fd, const struct sockaddr_storage *sa, bool tcp,
                       struct nm_connection **ret);
void nm_connections_remove(struct nm_connections *all, struct nm_connection *c);

/* Shuts down connections whose deadline has passed. */
void nm_connections_sweep(struct nm_connections *all, uint64_t now_usec);
