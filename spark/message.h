/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages in RPC frames (org.apache.spark.network.shuffle.protocol.BlockTransferMessage), which are the same in
 * Spark 3.3 to 4.3. The first byte is the message's code; the values are those of spark/primitive.h. Bytes after the
 * last value are ignored, as in Spark.
 *
 *   code and message                values                                                    reply
 *    0  NM_SPARK_OPEN_BLOCKS        app, exec, text[] ids                                     stream handle
 *    2  NM_SPARK_REGISTER           app, exec, text[] dirs, int32 subdirectories, text        empty
 *    7  NM_SPARK_REMOVE_BLOCKS      app, exec, text[] names                                   number of blocks
 *    9  NM_SPARK_FETCH_BLOCKS       app, exec, int32 shuffle, int64[] maps,                   stream handle
 *                                   array of int32[] reducers, bool batch
 *   10  NM_SPARK_GET_DIRS           app, text[] execs                                         local directories
 *   16  NM_SPARK_DIAGNOSE           app, exec, int32 shuffle, int64 map, int32 reducer,       cause
 *                                   int64 checksum, text algorithm
 *    3  stream handle               int64 stream, int32 chunks
 *    8  number of blocks            int32
 *   11  local directories           text[] execs, int32[] directories of each, text[] all directories
 *   17  cause                       int8
 *
 * Other codes are messages between executors (1, 6), of Mesos (4, 5), of push-based shuffle (12 to 15, 18, 19), and of
 * authentication (0xEA and 0xFB). Clients send 12, 13, 15 and 19, in which the application is the first value.
 */

#include "spark/block.h"
#include "spark/primitive.h"

enum nm_spark_code {
    NM_SPARK_OPEN_BLOCKS = 0,
    NM_SPARK_REGISTER = 2,
    NM_SPARK_REMOVE_BLOCKS = 7,
    NM_SPARK_FETCH_BLOCKS = 9,
    NM_SPARK_GET_DIRS = 10,
    NM_SPARK_DIAGNOSE = 16,
};

/* The texts of an array, not yet read. */
struct nm_spark_texts {
    uint32_t n;
    struct nm_bytes rest;
};

/* Removes the first text. The array must not be empty. */
struct nm_bytes nm_spark_texts_next(struct nm_spark_texts *texts);

/* The blocks that a client asks for, not yet read: one chunk for each block. The array refers to the message, whose
 * memory is much smaller than that of an array of struct nm_spark_block. */
struct nm_spark_blocks {
    uint32_t n_chunks;
    bool is_batch; /* each list has the first reducer of a chunk and the one after the last */
    int32_t shuffle;
    struct nm_bytes maps, lists;
    uint32_t n_in_list; /* reducers of the current map that are left */
    struct nm_spark_texts ids; /* of OPEN_BLOCKS, without maps and lists */
};

/* Removes the first block. n_chunks must be more than 0. */
struct nm_spark_block nm_spark_blocks_next(struct nm_spark_blocks *blocks);

struct nm_spark_message {
    enum nm_spark_code code;
    struct nm_bytes app, exec;
    struct nm_spark_texts texts;   /* directories, names or executors */
    int32_t n_sub_dirs;            /* of REGISTER */
    struct nm_bytes manager;       /* of REGISTER: the name of a class */
    struct nm_spark_blocks blocks; /* of OPEN_BLOCKS and FETCH_BLOCKS: at least one */
    struct nm_spark_block block;   /* of DIAGNOSE */
    int64_t checksum;
    struct nm_bytes algorithm;
};

/* Parses a message. The result refers to it. Returns -EOPNOTSUPP if the server does not handle messages with this
 * code, with *ret_why set to a sentence for the client. Returns -EBADMSG if the message is invalid: it ends early, a
 * number is negative, an id is not that of a block, there are no blocks, or a list of reducers is empty or is not a
 * batch. Unlike Spark, accepts OPEN_BLOCKS with blocks of several kinds and shuffles. */
int nm_spark_message_parse(struct nm_bytes message, struct nm_spark_message *ret, const char **ret_why);

/* Sets the application that a message of push-based shuffle names. Returns 0, or -EBADMSG if it is another message. */
int nm_spark_message_pusher(struct nm_bytes message, struct nm_bytes *ret_app);

/* Writers append a reply's message. */
void nm_spark_put_handle(struct nm_writer *w, int64_t stream, uint32_t n_chunks);
void nm_spark_put_removed(struct nm_writer *w, uint32_t n_blocks);
/* Collects the directories of executors for an answer. Initialize it with {}: it then has no executor. */
struct nm_spark_dirs_reply {
    uint32_t n, n_dirs;
    struct nm_writer execs, counts, dirs;
};
/* Adds an executor, whose directories must follow, and one of its directories. */
void nm_spark_dirs_begin(struct nm_spark_dirs_reply *reply, struct nm_bytes exec, uint32_t n_dirs);
void nm_spark_dirs_add(struct nm_spark_dirs_reply *reply, const char *local, const char *path);
void nm_spark_put_dirs(struct nm_writer *w, const struct nm_spark_dirs_reply *reply);
void nm_spark_dirs_done(struct nm_spark_dirs_reply *reply);

/* The causes of a corruption. */
enum nm_spark_cause {
    NM_SPARK_CAUSE_DISK,
    NM_SPARK_CAUSE_NETWORK,
    NM_SPARK_CAUSE_UNKNOWN,
    NM_SPARK_CAUSE_NONE,        /* the reader's checksum is that of the file */
    NM_SPARK_CAUSE_UNSUPPORTED, /* unknown algorithm */
};
void nm_spark_put_cause(struct nm_writer *w, enum nm_spark_cause cause);
