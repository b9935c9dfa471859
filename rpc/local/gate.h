/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where a connection over TCP waits until the head of its request is there and was judged (head.h), before the HTTP
 * library hears of it. The bytes are only looked at, and stay in the socket for the library. A client that sends half a
 * request so holds a place and nothing else, until its deadline (connections.h).
 */

#include "rpc/local/host.h"

/* 0: the connection is the library's from now on; negative: it has gone, or was refused and told so. The caller has the
 * connection again, and closes its socket in the second case. */
typedef void (*nm_gate_cb_t)(struct nm_connection *c, int r);

/* As the callback's, at once; or -EINPROGRESS: the callback will be called from the loop. */
int nm_gate_enter(struct nm_connection *c, nm_gate_cb_t cb);
/* Tells who waits at the gate that there is no place, and calls the callback. */
void nm_gate_turn_away(struct nm_connection *c);
/* The callback won't be called any more. */
void nm_gate_leave(struct nm_connection *c);
