/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server of Spark's shuffle files with real connections, and an executor as its client. The server has 16 slots, one
 * application with 1 MiB of memory for all users, and the files of spark-fixture.h: map 0 with the parts "first", ""
 * and "the third". Include it after cmocka.h. Link with spark-fixture.c and open-descriptors.c.
 */

#include "spark-fixture.h"
#include "spark/frame.h"
#include "spark/server.h"

#define PATIENCE_MSEC 20000
#define MEMORY_BYTES (UINT64_C(1) << 20)
#define LARGE_BYTES (UINT64_C(24) << 20) /* more than all buffers between server and client */

extern struct spark_fixture fixture;
extern struct nm_spark_service service;
extern struct nm_spark_server *server;
extern const struct nm_spark_listen listen_here;
extern struct nm_writer message; /* that the next call sends */
extern uint8_t received[1024];
extern const char *const parts[3];

int spark_set_up(void **state);
int spark_tear_down(void **state);

int dial(void);
void send_all(int fd, const void *data, size_t size);
/* Sends a frame, or adds it to others if `to` is not NULL. */
void send_frame(int fd, uint8_t type, const struct nm_writer *content, struct nm_writer *to);
/* Reads so many bytes. Returns how many have arrived when the connection ended, or after PATIENCE_MSEC. */
size_t receive(int fd, void *to, size_t size);
/* Receives a frame of this type into `received`, without a block. Returns its content. */
struct nm_bytes receive_frame(int fd, uint8_t type, size_t content);
bool has_closed(int fd);
/* Sends the message in `message` as request 9. */
void send_call(int fd);
/* Does the same, and returns the reply's message. */
struct nm_bytes call(int fd);
void register_executor(int fd);
/* Makes a message that asks for n chunks: the blocks of map 0 for the reducers 0, 1, 2, 0 ... */
void put_open_blocks(int32_t n);
/* Asks for n chunks. Returns their stream. */
int64_t open_blocks(int fd, int32_t n);
/* Requests chunks at once. */
void request_chunks(int fd, int64_t stream, int32_t first, int32_t n);
void receive_chunk(int fd, int64_t stream, int32_t chunk, const char *expected);

/* Makes the block of map 0 for reducer 0 so large that it is sent in many pieces. */
void make_large(uint64_t bytes);
/* Registers an executor, and receives the first bytes of a large block. Returns the connection. */
int begin_large_block(void);
/* Asserts that the rest of the block is not sent, and closes the connection. */
void assert_cut_off(int fd);
/* Waits until all connections have ended. */
bool all_have_ended(void);
void wait_for_count(atomic_uint_fast64_t *count, uint64_t value);
