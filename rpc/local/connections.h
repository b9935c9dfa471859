/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The connections of a server: who gets a place, and who has had it for too long.
 */

#include <sys/socket.h>

#include "rpc/local/host.h"

struct nm_connections {
    struct nm_host *host;
    gid_t admin_gid;
    unsigned n, max, n_tcp;
    struct nm_connection *first;
};

/* Who is at the other end of an accepted socket. On failure the client has gone already, or is told
 * that there is no place (-EUSERS); the socket stays the caller's in any case. */
int nm_connections_add(struct nm_connections *all, int fd, const struct sockaddr_storage *sa, bool tcp,
                       struct nm_connection **ret);
void nm_connections_remove(struct nm_connections *all, struct nm_connection *c);

/* Shuts those down whose time is over. */
void nm_connections_sweep(struct nm_connections *all, uint64_t now_usec);
