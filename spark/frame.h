/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The frames of Spark's transport (org.apache.spark.network.protocol), which are the same in Spark 3.3 to 4.3. There is
 * no handshake and no version.
 *
 *   int64  size of the whole frame, with these 8 bytes
 *   int8   type
 *   head   values of the type (spark/primitive.h)
 *   body   the rest of the frame
 *
 *   type                              from    head                                        body
 *    0  NM_SPARK_FRAME_CHUNK          client  int64 stream, int32 chunk                   -
 *    1  chunk                         server  int64 stream, int32 chunk                   the block
 *    2  chunk's failure               server  int64 stream, int32 chunk, text             -
 *    3  NM_SPARK_FRAME_RPC            client  int64 request, int32 size of the body       message
 *    4  reply                         server  int64 request, int32 size of the body       reply
 *    5  RPC's failure                 server  int64 request, text                         -
 *    6  NM_SPARK_FRAME_STREAM         client  text "<stream>_<chunk>"                     -
 *    7  stream                        server  text, int64 size                            -, the block after the frame
 *    8  stream's failure              server  text, text                                  -
 *    9  NM_SPARK_FRAME_ONE_WAY        client  int32 size of the body                      message without an answer
 *   10  NM_SPARK_FRAME_UPLOAD         client  int64 request, text meta, int64 size        -, the upload after the frame
 *   11  NM_SPARK_FRAME_MERGED_META    client  int64 request, text, 3 int32                -
 *   12  merged block's meta           server  int64 request, int32 chunks                 bitmaps
 *
 * Chunks above spark.network.maxRemoteBlockSizeFetchToMem are fetched as streams, because a frame is below 2 GiB. The
 * size of a message's body is ignored, as in Spark: the body is the rest of the frame.
 */

#include "rpc/hadoop/bytes.h"
#include "rpc/hadoop/writable.h"

#define NM_SPARK_FRAME_SIZE_BYTES 8u
#define NM_SPARK_FRAME_BODY_MAX (UINT64_C(0x7fffffff) - 64) /* largest block that is sent in a frame */

enum nm_spark_frame_type {
    NM_SPARK_FRAME_CHUNK = 0,
    NM_SPARK_FRAME_RPC = 3,
    NM_SPARK_FRAME_STREAM = 6,
    NM_SPARK_FRAME_ONE_WAY = 9,
    NM_SPARK_FRAME_UPLOAD = 10,
    NM_SPARK_FRAME_MERGED_META = 11,
};

/* A frame of a client. */
struct nm_spark_frame {
    enum nm_spark_frame_type type;
    int64_t id;            /* stream of CHUNK and STREAM, request of the other types */
    int32_t chunk;         /* of CHUNK and STREAM */
    struct nm_bytes name;  /* of STREAM: the text, which the answer repeats */
    struct nm_bytes body;  /* message of RPC and ONE_WAY, meta of UPLOAD */
    uint64_t upload_bytes; /* of UPLOAD: bytes that follow the frame */
};

/* Returns the size of the frame that begins with these NM_SPARK_FRAME_SIZE_BYTES bytes, or 0 if it is invalid. Spark
 * closes the connection of a client that has sent such a frame. */
uint64_t nm_spark_frame_size(const uint8_t *start);
/* Parses a whole frame. The result refers to it. Returns -EBADMSG if it is invalid or is not a client's frame. */
int nm_spark_frame_parse(struct nm_bytes frame, struct nm_spark_frame *ret);

/* Writers append a frame. In the names, a chunk is the answer to CHUNK, a reply to RPC, and a stream to STREAM. The
 * block_bytes of nm_spark_put_chunk() and nm_spark_put_stream() follow what was appended. */
void nm_spark_put_chunk(struct nm_writer *w, int64_t stream, int32_t chunk, uint64_t block_bytes);
void nm_spark_put_stream(struct nm_writer *w, struct nm_bytes name, uint64_t block_bytes);
void nm_spark_put_reply(struct nm_writer *w, int64_t request, struct nm_bytes message);
/* Appends the answer that the request in the frame `of` has failed. Appends nothing if the frame is ONE_WAY, because
 * the client expects no answer to it. */
void nm_spark_put_failure(struct nm_writer *w, const struct nm_spark_frame *of, const char *why);
