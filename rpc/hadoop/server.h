/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server of Hadoop's RPC. The owner of the server provides the protocols and the look-up of tokens. A protocol is a
 * table of methods with their request and answer messages. The server itself answers invalid requests (an unknown
 * protocol, version or method, a malformed message), as Java does. A method answers immediately or later. Calls of one
 * connection may be answered in any order.
 *
 * The resources of clients are limited. Connections and bytes are counted (util/quota.h) per address until the client
 * is authenticated, and per token afterwards. Unauthenticated clients therefore can't exhaust the resources of clients
 * with a token. Time is limited too: after a client has used more than its share, its next call waits. The server
 * closes a connection whose greeting, frame or reading of an answer takes too long, and an idle connection.
 */

#include <systemd/sd-event.h>

#include "rpc/hadoop/arena.h"
#include "rpc/hadoop/sasl.h"

struct nm_hadoop_server;
struct nm_hadoop_call;

struct nm_hadoop_method {
    const char *name;
    const ProtobufCMessageDescriptor *request;
    /* Handles a call. Must answer or refuse the call, immediately or later. */
    void (*handle)(struct nm_hadoop_call *call, void *userdata);
};

struct nm_hadoop_protocol {
    const char *name; /* "org.apache.hadoop....PB" */
    uint64_t version;
    const struct nm_hadoop_method *methods;
    size_t n_methods;
};

struct nm_hadoop_server_options {
    const struct nm_hadoop_protocol *protocols;
    size_t n_protocols;
    nm_sasl_lookup lookup; /* NULL: clients aren't authenticated, and SASL isn't used */
    void *userdata;        /* argument of lookup and the methods */
    int64_t priority;      /* event loop priority of the server's sources */
    /* Limits; 0 selects the default. */
    unsigned connections_max;     /* open connections: 1024 */
    uint64_t bytes_max;           /* memory of all connections together: 32 MiB */
    size_t frame_max;             /* maximum size of a request of an authenticated client: 4 MiB */
    /* time from the connection to the context: 30 s; an eighth of this time while many connections have no context */
    uint64_t handshake_usec;
    uint64_t frame_usec;          /* time from a frame's first byte to the frame's last byte: 30 s */
    uint64_t stall_usec;          /* time without progress in sending an answer: 30 s */
    uint64_t idle_usec;           /* time without a call: 2 min; Java's clients close after 10 s */
};

/* Creates a server on a listening socket, and takes the socket over, also on failure. The tables must outlive the
 * server. */
int nm_hadoop_server_new(sd_event *event, int listen_fd, const struct nm_hadoop_server_options *options,
                         struct nm_hadoop_server **ret);
/* Frees the server. Must not be called from a method. All calls must have been answered or refused. */
struct nm_hadoop_server *nm_hadoop_server_free(struct nm_hadoop_server *s);
NM_DEFINE_CLEANUP(struct nm_hadoop_server *, nm_hadoop_server_free)

unsigned nm_hadoop_server_connections(const struct nm_hadoop_server *s);

/* ---- for methods -------------------------------------------------------------------------- */

/* Return properties of a call. They are valid until the call is answered or refused. */
const ProtobufCMessage *nm_hadoop_call_request(const struct nm_hadoop_call *call);
struct nm_bytes nm_hadoop_call_identifier(const struct nm_hadoop_call *call); /* identifier of the token; empty without
                                                                                 SASL */
const char *nm_hadoop_call_user(const struct nm_hadoop_call *call);
/* the caller's context, packed; empty: the caller has sent no context */
struct nm_bytes nm_hadoop_call_context(const struct nm_hadoop_call *call);
/* Returns the account to charge for data that outlives the call. Such data needs its own reference to the account. */
struct nm_quota_account *nm_hadoop_call_account(const struct nm_hadoop_call *call);
/* Returns the arena for building the answer. */
struct nm_arena *nm_hadoop_call_arena(struct nm_hadoop_call *call);

/* End the call. If the client has disconnected, the answer is discarded. */
void nm_hadoop_call_answer(struct nm_hadoop_call *call, const ProtobufCMessage *answer);
void nm_hadoop_call_refuse(struct nm_hadoop_call *call, const struct nm_exception *why);
