/* SPDX-License-Identifier: Apache-2.0 */

/* See frame.h. */

#include "spark/frame.h"

#include <errno.h>

#include "spark/number.h"
#include "spark/primitive.h"
#include "util/macros.h"

/* Types of frames of servers. */
enum { CHUNK_SENT = 1, CHUNK_FAILED = 2, REPLY = 4, RPC_FAILED = 5, STREAM_SENT = 7, STREAM_FAILED = 8 };

#define HEAD_BYTES (NM_SPARK_FRAME_SIZE_BYTES + 1u)
#define STREAM_NAME_MAX (19 + 1 + 10) /* digits of INT64_MAX and INT32_MAX */

/* ---- reading ------------------------------------------------------------------------------ */

uint64_t nm_spark_frame_size(const uint8_t *start)
{
    struct nm_bytes from = {start, NM_SPARK_FRAME_SIZE_BYTES};
    int64_t size;

    (void)nm_spark_take_i64(&from, &size);
    /* the payload has at least its type, and its size is less than the largest int32 */
    return size < (int64_t)HEAD_BYTES || size - NM_SPARK_FRAME_SIZE_BYTES >= INT32_MAX ? 0 : (uint64_t)size;
}

static int take_chunk(struct nm_bytes *from, struct nm_spark_frame *f)
{
    int r = nm_spark_take_i64(from, &f->id);

    return r < 0 ? r : nm_spark_take_i32(from, &f->chunk);
}

static int take_message(struct nm_bytes *from, struct nm_spark_frame *f)
{
    int32_t ignored;
    int r = f->type == NM_SPARK_FRAME_RPC ? nm_spark_take_i64(from, &f->id) : 0;

    if (r == 0)
        r = nm_spark_take_i32(from, &ignored);
    f->body = *from;
    return r;
}

/* Parses "<stream>_<chunk>". Stream ids that this server makes are not negative. */
static int take_stream(struct nm_bytes *from, struct nm_spark_frame *f)
{
    struct nm_bytes rest;
    uint64_t stream, chunk;
    int r = nm_spark_take_text(from, &f->name);

    rest = f->name;
    if (r < 0 || rest.size > STREAM_NAME_MAX || nm_spark_take_number(&rest, INT64_MAX, &stream) < 0 ||
        rest.size == 0 || *nm_bytes_take(&rest, 1).data != '_' ||
        nm_spark_take_number(&rest, INT32_MAX, &chunk) < 0 || rest.size > 0)
        return -EBADMSG;
    f->id = (int64_t)stream;
    f->chunk = (int32_t)chunk;
    return 0;
}

static int take_upload(struct nm_bytes *from, struct nm_spark_frame *f)
{
    int64_t size;
    int r;

    if ((r = nm_spark_take_i64(from, &f->id)) < 0 || (r = nm_spark_take_text(from, &f->body)) < 0 ||
        (r = nm_spark_take_i64(from, &size)) < 0)
        return r;
    if (size < 0)
        return -EBADMSG;
    f->upload_bytes = (uint64_t)size;
    return 0;
}

/* Only the number of the request matters, because the request is refused. */
static int take_request(struct nm_bytes *from, struct nm_spark_frame *f)
{
    return nm_spark_take_i64(from, &f->id);
}

int nm_spark_frame_parse(struct nm_bytes frame, struct nm_spark_frame *ret)
{
    static int (*const parsers[])(struct nm_bytes *from, struct nm_spark_frame *f) = {
        [NM_SPARK_FRAME_CHUNK] = take_chunk,     [NM_SPARK_FRAME_RPC] = take_message,
        [NM_SPARK_FRAME_STREAM] = take_stream,   [NM_SPARK_FRAME_ONE_WAY] = take_message,
        [NM_SPARK_FRAME_UPLOAD] = take_upload,   [NM_SPARK_FRAME_MERGED_META] = take_request,
    };
    struct nm_spark_frame f = {};
    uint8_t type = 0;
    int r;

    if (frame.size < HEAD_BYTES)
        return -EBADMSG;
    (void)nm_bytes_take(&frame, NM_SPARK_FRAME_SIZE_BYTES);
    (void)nm_spark_take_u8(&frame, &type);
    if (type >= NM_ARRAY_SIZE(parsers) || !parsers[type])
        return -EBADMSG;
    f.type = type;
    if ((r = parsers[type](&frame, &f)) == 0)
        *ret = f;
    return r;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* Appends the start of a frame with so many bytes after it. */
static void put_start(struct nm_writer *w, uint8_t type, uint64_t bytes)
{
    nm_spark_put_i64(w, (int64_t)(HEAD_BYTES + bytes));
    nm_spark_put_u8(w, type);
}

static void put_chunk_start(struct nm_writer *w, uint8_t type, int64_t stream, int32_t chunk, uint64_t bytes)
{
    put_start(w, type, sizeof stream + sizeof chunk + bytes);
    nm_spark_put_i64(w, stream);
    nm_spark_put_i32(w, chunk);
}

void nm_spark_put_chunk(struct nm_writer *w, int64_t stream, int32_t chunk, uint64_t block_bytes)
{
    put_chunk_start(w, CHUNK_SENT, stream, chunk, block_bytes);
}

void nm_spark_put_stream(struct nm_writer *w, struct nm_bytes name, uint64_t block_bytes)
{
    put_start(w, STREAM_SENT, sizeof(int32_t) + name.size + sizeof(int64_t));
    nm_spark_put_text(w, name);
    nm_spark_put_i64(w, (int64_t)block_bytes);
}

void nm_spark_put_reply(struct nm_writer *w, int64_t request, struct nm_bytes message)
{
    put_start(w, REPLY, sizeof request + sizeof(int32_t) + message.size);
    nm_spark_put_i64(w, request);
    nm_spark_put_text(w, message);
}

void nm_spark_put_failure(struct nm_writer *w, const struct nm_spark_frame *of, const char *why)
{
    const struct nm_bytes text = nm_bytes_of(why);
    const size_t size = sizeof(int32_t) + text.size;

    switch (of->type) {
    case NM_SPARK_FRAME_ONE_WAY:
        return;
    case NM_SPARK_FRAME_CHUNK:
        put_chunk_start(w, CHUNK_FAILED, of->id, of->chunk, size);
        break;
    case NM_SPARK_FRAME_STREAM:
        put_start(w, STREAM_FAILED, sizeof(int32_t) + of->name.size + size);
        nm_spark_put_text(w, of->name);
        break;
    case NM_SPARK_FRAME_RPC:
    case NM_SPARK_FRAME_UPLOAD:
    case NM_SPARK_FRAME_MERGED_META:
        put_start(w, RPC_FAILED, sizeof of->id + size);
        nm_spark_put_i64(w, of->id);
        break;
    }
    nm_spark_put_text(w, text);
}
