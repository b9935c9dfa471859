/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * State shared by the files of the server. server.c handles the listening socket and time limits, greeting.c handles a
 * connection from its first byte to its context, and call.c handles calls.
 */

#include "rpc/hadoop/protocol.h"
#include "rpc/hadoop/server.h"
#include "rpc/hadoop/wire.h"

/* Maximum number of unanswered calls of a connection. Above it, the server stops reading from the connection. */
#define NM_SERVER_CALLS_MAX 32u

enum nm_server_phase {
    NM_SERVER_PREAMBLE,
    NM_SERVER_SASL,
    NM_SERVER_CONTEXT,
    NM_SERVER_OPEN,
    NM_SERVER_ENDING, /* the reason for the end was sent to the client; the server no longer reads */
};

struct nm_hadoop_server {
    struct nm_hadoop_server_options o;
    sd_event *event;
    struct nm_quota *quota;
    Gsasl *library;
    int listen_fd;
    sd_event_source *accept, *sweep, *turns;
    struct nm_server_connection *connections;
    unsigned n_connections, n_unauthenticated;
};

struct nm_server_connection {
    struct nm_wire wire; /* must be the first member */
    struct nm_hadoop_server *server;
    struct nm_server_connection *next, **prev_next;
    enum nm_server_phase phase;
    bool is_unauthenticated;
    struct nm_sasl_server *sasl; /* NULL: the client isn't authenticated */
    char *user;
    struct nm_turn turn; /* permission to process the frame in wire.in */
    struct nm_hadoop_call *calls;
    unsigned n_calls;
    uint64_t since_usec; /* start of the connection, of the last call or answer, or of the frame */
};

/* greeting.c: handle the preamble and packets until the connection is open. */
int nm_greeting_preamble(struct nm_server_connection *c, struct nm_bytes start);
int nm_greeting_packet(struct nm_server_connection *c, struct nm_bytes packet);
/* Sends the reason to the client and ends the connection. */
void nm_greeting_refuse(struct nm_server_connection *c, const struct nm_exception *why);

/* call.c: handles packets of an open connection. */
int nm_server_packet(struct nm_server_connection *c, struct nm_bytes packet);
/* Separates the calls from a connection that ends. The calls exist until their methods have answered or refused
 * them. */
void nm_server_orphan_calls(struct nm_server_connection *c);

/* Parses the first message of a client's packet and removes it from the packet. *ret_id points into this message.
 * Returns -EBADMSG if the message is invalid. */
int nm_server_header(struct nm_arena *a, struct nm_bytes *packet, const Hadoop__RpcRequest **ret,
                     struct nm_protocol_id *ret_id, struct nm_exception *why);
