/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server of Hadoop's RPC on a loopback port, with a protocol of tests' own, and the loop that it shares with whoever
 * talks to it. Messages are some that rpc/hadoop/security.proto has anyway.
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

/* Methods: echo (NodeId -> the same), hold (answered by the test), refuse (with an exception named by NodeId.host).
 * options: its limits; protocols and userdata are the fixture's. secure: clients have the token below. */
void fixture_set_up(struct fixture *f, const struct nm_hadoop_server_options *options, bool secure);
/* Refuses what is still held, and waits until the server has no connection if nobody is to be left. */
void fixture_tear_down(struct fixture *f);

extern const struct nm_token fixture_token;

/* Runs the loop until *condition is at least value; fails after 20 s. */
void fixture_run_until(struct fixture *f, const unsigned *condition, unsigned value);
void fixture_run_until_gone(struct fixture *f); /* the server's connections */
/* What is ready now, and no more. */
void fixture_run_ready(struct fixture *f);

/* A client with the fixture's address. */
struct nm_hadoop_client *fixture_client(struct fixture *f, struct nm_hadoop_client_options *options);

/* A bare socket that is connected to the server, and what it reads from it until the end (NUL-terminated). */
int fixture_connect(const struct fixture *f);
size_t fixture_read_to_end(struct fixture *f, int fd, uint8_t *to, size_t size);
