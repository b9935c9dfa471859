/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server of map outputs with real connections, and a reducer as its client. The server has the outputs of two
 * attempts of one job for one reducer: "first" and an empty one. Include it after cmocka.h. Link with
 * shuffle-fixture.c.
 */

#include "shuffle-fixture.h"
#include "shuffle/server.h"

#define MAX_SLOTS 16 /* at most four of the slots are for unknown clients of one host */
#define JOB_SLOTS 6
#define PATIENCE_MSEC 20000
#define TARGET "/mapOutput?job=" JOB "&reduce=0&map=" ATTEMPT(0)

struct shuffle_client {
    struct shuffle_fixture fixture;
    struct nm_shuffle_service service;
    struct nm_shuffle_server *server;
};
extern struct shuffle_client shuffle_client;
extern char reply[1 << 16]; /* all that the last receive() has read, NUL-terminated */

/* Slots of the next server. The default is MAX_SLOTS. */
extern unsigned shuffle_client_slots;

int shuffle_client_set_up(void **state);

int shuffle_client_tear_down(void **state);

/* Connects from 127.0.0.HOST. */
int dial_from(unsigned host);

int dial(void);

void send_text(int fd, const char *text);

const char *hash(const char *key, const char *of);

const char *signed_for(const char *target);

void ask(int fd, const char *target, const char *url_hash);

/* Reads until the other side closes the connection, or until `most` bytes have arrived. */
size_t receive(int fd, size_t most);

bool reply_begins(const char *with);

/* Sends a request over a new connection and reads the whole reply. */
void fetch(const char *target, const char *url_hash);

void large_output(uint64_t bytes);

bool all_connections_have_ended(void);

/* Returns the number of threads of this process, and thus also of the server. */
unsigned n_threads(void);

/* Waits until the process has this number of threads. */
bool has_threads(unsigned n);

void book_work(uint64_t work_usec, uint64_t expected_wait_usec);

void assert_output_is_sent_to_the_byte(void);

/* The output is larger than all buffers between server and client. */
void assert_large_output_is_sent(void);

/*
 * The file is truncated while it is sent. The promised length can't be reached, so the server breaks the connection.
 */
void assert_cut_output_ends_the_connection(void);
