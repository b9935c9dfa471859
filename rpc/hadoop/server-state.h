/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the files of the server share. server.c has the listening socket and the clocks; greeting.c takes a connection
 * from its first byte to its context; call.c has its calls.
 */

#include "rpc/hadoop/protocol.h"
#include "rpc/hadoop/server.h"
#include "rpc/hadoop/wire.h"

/* So many calls of one connection may wait for their answers; then nothing more is read from it. */
#define NM_SERVER_CALLS_MAX 32u

enum nm_server_phase {
    NM_SERVER_PREAMBLE,
    NM_SERVER_SASL,
    NM_SERVER_CONTEXT,
    NM_SERVER_OPEN,
    NM_SERVER_ENDING, /* it has been told why, and reads no more */
};

struct nm_hadoop_server {
    struct nm_hadoop_server_options o;
    sd_event *event;
    struct nm_quota *ration;
    Gsasl *library;
    int listen_fd;
    sd_event_source *accept, *sweep, *turns;
    struct nm_server_connection *connections;
    unsigned n_connections, n_strangers;
};

struct nm_server_connection {
    struct nm_wire wire; /* first */
    struct nm_hadoop_server *server;
    struct nm_server_connection *next, **prev_next;
    enum nm_server_phase phase;
    bool stranger;
    struct nm_sasl_server *sasl; /* NULL: taken at its word */
    char *user;
    struct nm_turn turn; /* of the frame that the wire keeps */
    struct nm_hadoop_call *calls;
    unsigned n_calls;
    uint64_t since_usec; /* the connection; or the last call's coming or answer; or the frame's begin */
};

/* greeting.c: preamble and packets until the connection is open. */
int nm_greeting_preamble(struct nm_server_connection *c, struct nm_bytes start);
int nm_greeting_packet(struct nm_server_connection *c, struct nm_bytes packet);
/* Says why, and ends it. */
void nm_greeting_refuse(struct nm_server_connection *c, const struct nm_exception *why);

/* call.c: packets of an open connection. */
int nm_server_packet(struct nm_server_connection *c, struct nm_bytes packet);
/* The connection goes; its calls stay with their methods. */
void nm_server_orphan_calls(struct nm_server_connection *c);

/* The first message of a client's packet, which *ret_id points into, and what follows it; -EBADMSG. */
int nm_server_header(struct nm_arena *a, struct nm_bytes *packet, const Hadoop__RpcRequest **ret,
                     struct nm_protocol_id *ret_id, struct nm_exception *why);
