/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Holds a TCP connection until the head of its first request is complete and has been judged (head.h), before
 * libmicrohttpd gets the connection. The bytes are only peeked at and stay in the socket for libmicrohttpd. A client
 * that sends half a request thus uses one place and no other resource, until its deadline (connections.h).
 */

#include "rpc/local/host.h"

/* Reports the end of the wait. r 0: libmicrohttpd gets the connection now. r negative: the client has disconnected, or
 * was refused and has been sent the reason. The callback takes over the connection, and closes its socket if r is
 * negative. */
typedef void (*nm_gate_cb_t)(struct nm_connection *c, int r);

/* Starts the wait. Returns the value that the callback would get if the result is known at once, or -EINPROGRESS; the
 * callback is then called from the event loop. */
int nm_gate_enter(struct nm_connection *c, nm_gate_cb_t cb);
/* Answers a waiting client that there is no place, and calls the callback. */
void nm_gate_turn_away(struct nm_connection *c);
/* Ends the wait without calling the callback. */
void nm_gate_leave(struct nm_connection *c);
