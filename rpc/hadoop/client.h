/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A client of Hadoop's RPC: one connection to one protocol of one server. It connects when it is made; calls may be
 * made at once, and go out when the server has let us in. Nothing waits. When the connection ends, for whatever reason,
 * it stays ended: whoever wants another one makes another client, after a while that he chooses.
 */

#include <sys/socket.h>

#include <systemd/sd-event.h>

#include "rpc/hadoop/exception.h"
#include "rpc/hadoop/protocol.h"
#include "rpc/hadoop/token.h"

struct nm_hadoop_client;

/* How a call went. error is 0, and answer the answer; or
 *   -EREMOTEIO    the server refuses the call, for *why
 *   -EACCES       the server refuses the connection, or we the server, for *why
 *   -ETIMEDOUT    there was no answer in time; the connection goes on
 *   -EBADMSG      what came is no answer to this; the connection has ended
 *   -ECONNREFUSED, -ECONNRESET, ...  the connection has ended
 * why is NULL where there is nothing to say. answer and why last until the function returns. It may make more calls,
 * and may free the client. */
typedef void (*nm_hadoop_reply)(void *userdata, int error, const ProtobufCMessage *answer,
                                const struct nm_exception *why);
/* The connection has ended; all calls have heard of it before. 0: the server closed it, and no call was under way. */
typedef void (*nm_hadoop_closed)(void *userdata, int error, const struct nm_exception *why);

struct nm_hadoop_client_options {
    const struct sockaddr *address;
    socklen_t address_size;
    const char *protocol; /* "org.apache.hadoop....PB" */
    uint64_t version;
    const char *user;             /* who we say we are, with no token: must not be NULL then */
    const struct nm_token *token; /* or NULL: no SASL */
    bool simple_will_do;          /* with a token: for a server that asks for none */
    /* NULL: random. One who connects again and calls anew may want to be known as the same. */
    const uint8_t *client_id;
    nm_hadoop_closed closed;
    void *userdata;   /* of closed */
    int64_t priority; /* of its event sources */
    /* 0: the default. */
    uint64_t connect_usec; /* from now to being let in: 20 s */
    uint64_t ping_usec;    /* so long after the last packet, a waiting client shows that it is there: 60 s */
    size_t frame_max;      /* 64 MiB */
};

/* What options point to is copied. A connection that fails is heard of from the loop. */
int nm_hadoop_client_new(sd_event *event, const struct nm_hadoop_client_options *options,
                         struct nm_hadoop_client **ret);
/* Nothing is heard of it any more. */
struct nm_hadoop_client *nm_hadoop_client_free(struct nm_hadoop_client *c);
NM_DEFINE_CLEANUP(struct nm_hadoop_client *, nm_hadoop_client_free)

/* Has the server let us in? */
bool nm_hadoop_client_is_open(const struct nm_hadoop_client *c);

/* 0: reply will be called, once, unless the client is freed before. -ENOTCONN: the connection has ended. retry: how
 * often this very request was sent before. */
int nm_hadoop_client_call(struct nm_hadoop_client *c, const char *method, const ProtobufCMessage *request,
                          const ProtobufCMessageDescriptor *answer, int retry, uint64_t timeout_usec,
                          nm_hadoop_reply reply, void *userdata);
/* A call in somebody's stead: with his context, as nm_hadoop_call_context() has it. */
int nm_hadoop_client_call_for(struct nm_hadoop_client *c, struct nm_bytes context, const char *method,
                              const ProtobufCMessage *request, const ProtobufCMessageDescriptor *answer, int retry,
                              uint64_t timeout_usec, nm_hadoop_reply reply, void *userdata);
