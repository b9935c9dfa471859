/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server of Hadoop's RPC. Its owner says which protocols it has, each a table of methods with the messages that they
 * take and give, and who bears which token. What doesn't fit (an unknown protocol, version or method, a message that is
 * none) is answered here, as Java does. A method answers at once or later; calls of one connection may be answered in
 * any order.
 *
 * What clients may cost is bounded. Places and bytes are rationed (util/quota.h): by the client's address until it is
 * known, and from then on by its token, so that who bears one isn't in the way of others and finds room however many
 * strangers there are. Time, too: a client's next call waits while it has had more than its share. A connection is
 * closed when its greeting, a frame or the fetching of an answer takes too long, and when nothing is asked for long.
 */

#include <systemd/sd-event.h>

#include "rpc/hadoop/arena.h"
#include "rpc/hadoop/sasl-server.h"

struct nm_hadoop_server;
struct nm_hadoop_call;

struct nm_hadoop_method {
    const char *name;
    const ProtobufCMessageDescriptor *request;
    /* Must see to it that the call is answered or refused, now or later. */
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
    nm_sasl_lookup lookup; /* NULL: clients are taken at their word, without SASL */
    void *userdata;        /* of lookup and the methods */
    int64_t priority;      /* of its event sources */
    /* 0: the default. */
    unsigned connections_max;     /* 1024 */
    uint64_t bytes_max;           /* of all of them together: 32 MiB */
    size_t frame_max;             /* a request of somebody known: 4 MiB */
    uint64_t handshake_usec;      /* from the connection to the context: 30 s; an eighth of it if many have none */
    uint64_t frame_usec;          /* from a frame's first byte to its last: 30 s */
    uint64_t stall_usec;          /* without anything of an answer being fetched: 30 s */
    uint64_t idle_usec;           /* without a call: 2 min; Java's clients close after 10 s */
};

/* listen_fd is bound and listening, and the server's from now on, also on failure. The tables must outlive it. */
int nm_hadoop_server_new(sd_event *event, int listen_fd, const struct nm_hadoop_server_options *options,
                         struct nm_hadoop_server **ret);
/* Not from within a method, and only when every call has been answered or refused. */
struct nm_hadoop_server *nm_hadoop_server_free(struct nm_hadoop_server *s);
NM_DEFINE_CLEANUP(struct nm_hadoop_server *, nm_hadoop_server_free)

unsigned nm_hadoop_server_connections(const struct nm_hadoop_server *s);

/* ---- for methods -------------------------------------------------------------------------- */

/* All of it lives as long as the call. */
const ProtobufCMessage *nm_hadoop_call_request(const struct nm_hadoop_call *call);
struct nm_bytes nm_hadoop_call_identifier(const struct nm_hadoop_call *call); /* of the token; empty without SASL */
const char *nm_hadoop_call_user(const struct nm_hadoop_call *call);
struct nm_bytes nm_hadoop_call_context(const struct nm_hadoop_call *call); /* the caller's, packed; empty: none */
/* Who pays for what is kept for the call elsewhere; with a reference of its own it may live longer. */
struct nm_quota_account *nm_hadoop_call_account(const struct nm_hadoop_call *call);
/* For what the answer is made of. */
struct nm_arena *nm_hadoop_call_arena(struct nm_hadoop_call *call);

/* Both end the call. If the client has gone, nobody hears it. */
void nm_hadoop_call_answer(struct nm_hadoop_call *call, const ProtobufCMessage *answer);
void nm_hadoop_call_refuse(struct nm_hadoop_call *call, const struct nm_exception *why);
