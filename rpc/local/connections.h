/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The connections of a server. Their number is limited, and slow connections are closed. A TCP connection waits at a
 * gate until the head of its first request has been checked. libmicrohttpd gets it afterwards.
 */

#include <sys/socket.h>

#include "rpc/local/local-state.h"

/* ---- connections.c ------------------------------------------------------------------------ */

struct nm_connections {
    struct nm_local_state *host;
    gid_t admin_gid;
    unsigned n, max, n_tcp;
    struct nm_connection *first;
};

/* Creates a connection for an accepted socket and identifies its client. Fails if the client has already disconnected.
 * If the maximum number of connections is reached, sends the client an answer and returns -EUSERS. The caller keeps the
 * socket in all cases. */
int nm_connections_add(struct nm_connections *all, int fd, const struct sockaddr_storage *sa, bool tcp,
                       struct nm_connection **ret);
void nm_connections_remove(struct nm_connections *all, struct nm_connection *c);

/* Returns the struct that the server has attached to the socket. All requests on a connection share it. */
struct nm_connection *nm_connection_of(struct MHD_Connection *c);

/* Shuts down connections whose deadline has passed. */
void nm_connections_sweep(struct nm_connections *all, uint64_t now_usec);

/* ---- the gate: gate.c --------------------------------------------------------------------- */

/*
 * Holds a TCP connection until the head of its first request is complete and has been checked (head.h). libmicrohttpd
 * gets the connection afterwards. The head is read with MSG_PEEK, so its bytes remain in the socket for libmicrohttpd.
 * A client that sends half a request therefore uses one connection and no other resource, until its deadline.
 */

/* Reports the end of the wait. r 0: libmicrohttpd gets the connection now. r negative: the client has disconnected, or
 * the request was refused and the client has received the reason. The callback takes over the connection, and closes
 * the socket if r is negative. */
typedef void (*nm_gate_cb_t)(struct nm_connection *c, int r);

/* Starts the wait. If the result is already known, returns the value that the callback would get. Otherwise returns
 * -EINPROGRESS, and the callback is called later from the event loop. */
int nm_gate_enter(struct nm_connection *c, nm_gate_cb_t cb);
/* Answers a waiting client that the server has too many connections, and calls the callback. */
void nm_gate_reject(struct nm_connection *c);
/* Ends the wait without calling the callback. */
void nm_gate_leave(struct nm_connection *c);

/* ---- answers without libmicrohttpd: gate.c ------------------------------------------------ */

/* These functions write an answer without libmicrohttpd, because libmicrohttpd has no connection for this client or
 * hasn't received a complete request. Bytes that the socket doesn't accept immediately are discarded, because the event
 * loop must not block. */

/* Writes an error answer. The strings are inserted into JSON without escaping. */
void nm_answer_raw(int fd, const char *status, const char *code, const char *thing, const char *message);

/* Writes an answer with status 503. */
void nm_answer_busy(int fd);
