/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server of Hadoop's RPC on a loopback port with a test protocol, and the event loop that the server shares with its
 * clients. The protocol's messages are taken from rpc/hadoop/security.proto.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>

#include "rpc/hadoop/client.h"
#include "rpc/hadoop/server.h"

#define FIXTURE_PROTOCOL "test.EchoProtocolPB"

struct fixture {
    sd_event *event;
    struct nm_hadoop_server *server;
    struct sockaddr_in address;
    struct nm_hadoop_call *held[64]; /* calls of "hold", oldest first */
    unsigned n_held, n_echoes;
    char last_user[64];
    size_t last_identifier_size, last_context_size;
};

/* Starts the server. Methods: echo (NodeId -> the same), hold (answered by the test), refuse (with an exception named
 * by NodeId.host). options: limits; the fixture sets protocols and userdata. secure: clients need the token below. */
void fixture_set_up(struct fixture *f, const struct nm_hadoop_server_options *options, bool secure);
/* Refuses the calls that are still held, and frees the server and the loop. */
void fixture_tear_down(struct fixture *f);

extern const struct nm_token fixture_token;

/* Runs the loop until *condition is at least value. Fails the test after 20 s. */
void fixture_run_until(struct fixture *f, const unsigned *condition, unsigned value);
void fixture_run_until_gone(struct fixture *f); /* runs the loop until the server has no connection */
/* Runs the loop for the events that are ready, without waiting. */
void fixture_run_ready(struct fixture *f);

/* Returns a new client of the fixture's server. */
struct nm_hadoop_client *fixture_client(struct fixture *f, struct nm_hadoop_client_options *options);

/* fixture_connect() returns a socket that is connected to the server. fixture_read_to_end() reads from it until the
 * end, adds a NUL, and returns the size. */
int fixture_connect(const struct fixture *f);
size_t fixture_read_to_end(struct fixture *f, int fd, uint8_t *to, size_t size);
