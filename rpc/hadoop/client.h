/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A client of Hadoop's RPC: one connection to one protocol of one server. The client connects when it is created. Calls
 * can be made immediately; the client sends them after the server has accepted it. No function blocks. A closed
 * connection isn't reopened: the owner creates a new client, after a delay that the owner chooses.
 */

#include <sys/socket.h>

#include <systemd/sd-event.h>

#include "rpc/hadoop/exception.h"
#include "rpc/hadoop/protocol.h"
#include "rpc/hadoop/token.h"

struct nm_hadoop_client;

/* Reports the result of a call. error 0: answer is the server's answer. Otherwise error is
 *   -EREMOTEIO    the server refuses the call; *why is the reason
 *   -EACCES       the server refuses the connection, or the client refuses the server; *why is the reason
 *   -ETIMEDOUT    no answer in time; the connection stays open
 *   -EBADMSG      the answer is invalid; the connection is closed
 *   -ECONNREFUSED, -ECONNRESET, ...  the connection is closed
 * why is NULL if there is no reason. answer and why are valid until the function returns. The function may make more
 * calls and may free the client. */
typedef void (*nm_hadoop_reply)(void *userdata, int error, const ProtobufCMessage *answer,
                                const struct nm_exception *why);
/* Reports the end of the connection, after the results of all calls. error 0: the server closed the connection while no
 * call was in progress. */
typedef void (*nm_hadoop_closed)(void *userdata, int error, const struct nm_exception *why);

struct nm_hadoop_client_options {
    const struct sockaddr *address;
    socklen_t address_size;
    const char *protocol; /* "org.apache.hadoop....PB" */
    uint64_t version;
    const char *user;             /* user name to send; must not be NULL without a token */
    const struct nm_token *token; /* NULL: no SASL */
    bool accepts_simple_auth;     /* a client with a token accepts a server that doesn't require tokens */
    /* Client id; NULL: random. A client that reconnects and repeats calls may reuse its id, so that the server
     * recognizes the repetition. */
    const uint8_t *client_id;
    nm_hadoop_closed closed;
    void *userdata;   /* argument of `closed` */
    int64_t priority; /* event loop priority of the client's sources */
    /* Limits; 0 selects the default. */
    uint64_t connect_usec; /* time until the server has accepted the client, and limit of its silence as a host: 20 s */
    uint64_t ping_usec;    /* interval after the last packet after which a client with calls in progress sends a ping:
                              60 s */
    size_t frame_max;      /* maximum size of a received frame: 64 MiB */
};

/* Creates a client. Copies the data to which options points. A failed connection is reported from the event loop. */
int nm_hadoop_client_new(sd_event *event, const struct nm_hadoop_client_options *options,
                         struct nm_hadoop_client **ret);
/* Frees the client. No callback is called afterwards. */
struct nm_hadoop_client *nm_hadoop_client_free(struct nm_hadoop_client *c);
NM_DEFINE_CLEANUP(struct nm_hadoop_client *, nm_hadoop_client_free)

/* Returns whether the server has accepted the client. */
bool nm_hadoop_client_is_open(const struct nm_hadoop_client *c);

/* Makes a call. Returns 0; reply is then called once, unless the client is freed first. Returns -ENOTCONN if the
 * connection is closed. retry: how many times the same request was sent before. */
int nm_hadoop_client_call(struct nm_hadoop_client *c, const char *method, const ProtobufCMessage *request,
                          const ProtobufCMessageDescriptor *answer, int retry, uint64_t timeout_usec,
                          nm_hadoop_reply reply, void *userdata);
/* Makes a call on behalf of another caller. context: the other caller's context, from nm_hadoop_call_context(). */
int nm_hadoop_client_call_for(struct nm_hadoop_client *c, struct nm_bytes context, const char *method,
                              const ProtobufCMessage *request, const ProtobufCMessageDescriptor *answer, int retry,
                              uint64_t timeout_usec, nm_hadoop_reply reply, void *userdata);
