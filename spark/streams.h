/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The streams that a client has opened on its connection. A stream is a list of blocks. The client must request them in
 * their order, each once (OneForOneStreamManager of Spark). A stream ends when its last block is requested, and when
 * the connection ends. Streams of other connections cannot be named.
 */

#include <sys/queue.h>

#include "spark/message.h"

/* Limits of a connection. A client opens a stream for each request of a task, for at most a fifth of
 * spark.reducer.maxSizeInFlight. */
#define NM_SPARK_STREAMS_MAX 1024u
#define NM_SPARK_STREAMS_BYTES_MAX (UINT64_C(32) << 20)

#define NM_SPARK_ID_SIZE 64u /* ids of applications and executors, which end with NUL */

LIST_HEAD(nm_spark_stream_list, nm_spark_stream);

/* A struct initialized with {} has no streams. */
struct nm_spark_streams {
    struct nm_spark_stream_list list;
    unsigned n;
    uint64_t bytes; /* memory of all streams */
};

/* A block that was requested, and the executor that has it. */
struct nm_spark_request {
    char app[NM_SPARK_ID_SIZE], exec[NM_SPARK_ID_SIZE];
    struct nm_spark_block block;
};

/* Opens a stream with the blocks of a message OPEN_BLOCKS or FETCH_BLOCKS, and takes over `memory`, which has the
 * message, except on failure. Returns -EBADMSG if an id is not valid, -EBUSY if the connection has too many
 * streams, or -ENOMEM. */
int nm_spark_streams_open(struct nm_spark_streams *s, const struct nm_spark_message *message, uint8_t *memory,
                          size_t size, int64_t *ret_id);
/* Takes the next block of a stream. Returns -ENOENT if the connection has no such stream, -EINVAL if the chunk is not
 * the next one. */
int nm_spark_streams_take(struct nm_spark_streams *s, int64_t id, int32_t chunk, struct nm_spark_request *ret);
void nm_spark_streams_done(struct nm_spark_streams *s);

/* Copies an id and checks its characters: letters, digits, and "._-" after the first one. Returns false if it is not an
 * id, or too long. */
bool nm_spark_copy_id(struct nm_bytes id, char ret[static NM_SPARK_ID_SIZE]);
