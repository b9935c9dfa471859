/* SPDX-License-Identifier: Apache-2.0 */

/* See client.h. The frames are described in spark/frame.h, and the messages in spark/message.h. */

#include "tests/bench/spark-shuffle/client.h"

#include <endian.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "spark/block.h"
#include "spark/frame.h"
#include "spark/message.h"
#include "tests/bench/shuffle/load.h"
#include "util/fileio.h"
#include "util/macros.h"

#define SUB_DIRS 64
#define CHUNK_HEAD 21u /* size, type, stream, chunk; and of an RPC's reply: size, type, request, size */
#define RPC_HEAD 21u
#define RECEIVED_BYTES (256u << 10)
/* Blocks from this size on are not copied to the client's memory. */
#define DISCARDED_BYTES (1u << 20)
enum { CHUNK_SENT = 1, REPLY = 4, STREAM_HANDLE = 3 };

/* ---- files -------------------------------------------------------------------------------- */

void local_dir(const char *dir, unsigned number, char *ret, size_t size)
{
    (void)snprintf(ret, size, "%s/%u", dir, number + 1);
}

static void app_id(unsigned app, char ret[64])
{
    (void)snprintf(ret, 64, "application_1_%04u", app);
}

/* Writes the path that an executor registers in a local directory. */
static void registered_dir(const char *dir, unsigned number, unsigned app, unsigned exec, char ret[PATH_MAX])
{
    char local[PATH_MAX / 2], id[64];

    local_dir(dir, number, local, sizeof local);
    app_id(app, id);
    (void)snprintf(ret, PATH_MAX, "%s/usercache/bench/appcache/%s/blockmgr-%08u", local, id, exec);
}

static void write_file(const char *dir, const struct bench_map *m, enum nm_spark_file_kind kind, const void *data,
                       size_t size)
{
    const struct nm_spark_file file = {kind, (int32_t)m->shuffle, m->map};
    struct nm_spark_place place;
    char name[NM_SPARK_FILE_NAME_SIZE], path[PATH_MAX];
    size_t length;
    int fd;

    nm_spark_file_name(&file, name);
    place = nm_spark_file_place(name, LOCAL_DIRS, SUB_DIRS);
    registered_dir(dir, place.dir, m->app, m->exec, path);
    length = strlen(path);
    (void)snprintf(path + length, sizeof path - length, "/%02x", place.sub_dir);
    if (nm_mkdir_p(path, 0755) < 0)
        die(path);
    length = strlen(path);
    (void)snprintf(path + length, sizeof path - length, "/%s", name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || nm_write_all(fd, data, size) < 0 || close(fd) < 0)
        die(path);
}

static uint8_t byte_at(uint64_t at, unsigned map)
{
    return (uint8_t)((at >> 10) * 31 + map);
}

void write_map(const char *dir, const struct bench_map *m, unsigned n_reducers, uint64_t block_bytes)
{
    uint64_t *index = calloc(n_reducers + 1, sizeof *index);
    uint8_t *data = malloc(n_reducers * block_bytes);

    if (!index || !data)
        die("malloc");
    for (uint64_t at = 0; at < n_reducers * block_bytes; at++)
        data[at] = byte_at(at, m->map);
    for (unsigned i = 0; i <= n_reducers; i++)
        index[i] = htobe64(i * block_bytes);
    write_file(dir, m, NM_SPARK_FILE_DATA, data, n_reducers * block_bytes);
    write_file(dir, m, NM_SPARK_FILE_INDEX, index, (n_reducers + 1) * sizeof *index);
    free(index);
    free(data);
}

/* ---- messages ----------------------------------------------------------------------------- */

static void send_all(int fd, const struct nm_writer *w)
{
    struct nm_bytes bytes;

    if (nm_writer_result(w, &bytes) < 0 || nm_write_all(fd, (const char *)bytes.data, bytes.size) < 0)
        die("send");
}

static void receive_all(int fd, uint8_t *to, size_t size)
{
    if (recv(fd, to, size, MSG_WAITALL) != (ssize_t)size)
        die("the connection broke");
}

static void put_head(struct nm_writer *w, int32_t code, unsigned app, unsigned exec)
{
    char id[64], number[16];

    app_id(app, id);
    (void)snprintf(number, sizeof number, "%u", exec);
    nm_spark_put_u8(w, (uint8_t)code);
    nm_spark_put_text(w, nm_bytes_of(id));
    nm_spark_put_text(w, nm_bytes_of(number));
}

/* Sends a message, and receives the reply, whose body must have so many bytes. */
static void call(int fd, struct nm_writer *message, uint8_t *ret, size_t reply_bytes)
{
    struct nm_writer frame = {};
    uint8_t head[RPC_HEAD];

    nm_spark_put_i64(&frame, (int64_t)(RPC_HEAD + message->size));
    nm_spark_put_u8(&frame, NM_SPARK_FRAME_RPC);
    nm_spark_put_i64(&frame, 1);
    nm_spark_put_text(&frame, (struct nm_bytes){message->data, message->size});
    send_all(fd, &frame);
    nm_writer_done(&frame);
    nm_writer_done(message);
    receive_all(fd, head, sizeof head);
    if (head[8] != REPLY || nm_spark_frame_size(head) != RPC_HEAD + reply_bytes) {
        fprintf(stderr, "the server answers with a frame of type %u and %ju bytes\n", head[8],
                (uintmax_t)nm_spark_frame_size(head));
        exit(1);
    }
    if (reply_bytes > 0)
        receive_all(fd, ret, reply_bytes);
}

void register_executor(int fd, const char *dir, unsigned app, unsigned exec)
{
    struct nm_writer w = {};
    char path[PATH_MAX];

    put_head(&w, NM_SPARK_REGISTER, app, exec);
    nm_spark_put_i32(&w, LOCAL_DIRS);
    for (unsigned i = 0; i < LOCAL_DIRS; i++) {
        registered_dir(dir, i, app, exec, path);
        nm_spark_put_text(&w, nm_bytes_of(path));
    }
    nm_spark_put_i32(&w, SUB_DIRS);
    nm_spark_put_text(&w, nm_bytes_of("org.apache.spark.shuffle.sort.SortShuffleManager"));
    call(fd, &w, NULL, 0);
}

/* Opens a stream. Returns its id. */
static int64_t open_stream(int fd, const struct bench_blocks *b)
{
    uint8_t handle[13];
    struct nm_bytes from = {handle, sizeof handle};
    struct nm_writer w = {};
    uint8_t code;
    int64_t id;

    put_head(&w, NM_SPARK_FETCH_BLOCKS, b->m.app, b->m.exec);
    nm_spark_put_i32(&w, (int32_t)b->m.shuffle);
    nm_spark_put_i32(&w, (int32_t)b->n_maps);
    for (unsigned i = 0; i < b->n_maps; i++)
        nm_spark_put_i64(&w, b->m.map + i);
    nm_spark_put_i32(&w, (int32_t)b->n_maps);
    for (unsigned i = 0; i < b->n_maps; i++) {
        nm_spark_put_i32(&w, 1);
        nm_spark_put_i32(&w, (int32_t)b->reduce);
    }
    nm_spark_put_u8(&w, 0);
    call(fd, &w, handle, sizeof handle);
    if (nm_spark_take_u8(&from, &code) < 0 || code != STREAM_HANDLE || nm_spark_take_i64(&from, &id) < 0)
        die("the server does not open a stream");
    return id;
}

/* ---- chunks ------------------------------------------------------------------------------- */

static int64_t ask(int fd, const struct bench_blocks *b)
{
    const int64_t stream = open_stream(fd, b);
    struct nm_writer w = {};

    for (unsigned i = 0; i < b->n_maps; i++) {
        nm_spark_put_i64(&w, CHUNK_HEAD);
        nm_spark_put_u8(&w, NM_SPARK_FRAME_CHUNK);
        nm_spark_put_i64(&w, stream);
        nm_spark_put_i32(&w, (int32_t)i);
    }
    send_all(fd, &w);
    nm_writer_done(&w);
    return stream;
}

/* Checks the head of a chunk, and the first byte of its block. */
static void check_chunk(const struct bench_blocks *b, int64_t stream, unsigned number, const uint8_t *at)
{
    struct nm_bytes from = {at + NM_SPARK_FRAME_SIZE_BYTES, CHUNK_HEAD - NM_SPARK_FRAME_SIZE_BYTES};
    uint8_t type = 0;
    int64_t id = -1;
    int32_t chunk = -1;

    if (nm_spark_take_u8(&from, &type) < 0 || nm_spark_take_i64(&from, &id) < 0 ||
        nm_spark_take_i32(&from, &chunk) < 0 || type != CHUNK_SENT || id != stream || chunk != (int32_t)number ||
        nm_spark_frame_size(at) != CHUNK_HEAD + b->block_bytes ||
        at[CHUNK_HEAD] != byte_at(b->reduce * b->block_bytes, b->m.map + number)) {
        fprintf(stderr, "the server sends a wrong frame of type %u\n", type);
        exit(1);
    }
}

/* Receives into a buffer, as the client of Spark does. */
static void receive_small(int fd, const struct bench_blocks *b, int64_t stream)
{
    static _Thread_local uint8_t in[RECEIVED_BYTES];
    const uint64_t whole = CHUNK_HEAD + b->block_bytes;
    uint64_t left = b->n_maps * whole;
    size_t used = 0;
    unsigned number = 0;

    while (left > 0) {
        ssize_t n = recv(fd, in + used, NM_MIN(left, (uint64_t)(sizeof in - used)), 0);
        size_t at = 0;

        if (n <= 0)
            die("the connection broke");
        left -= (uint64_t)n;
        used += (size_t)n;
        for (; used - at >= whole; at += whole)
            check_chunk(b, stream, number++, in + at);
        memmove(in, in + at, used - at);
        used -= at;
    }
}

static void receive_large(int fd, const struct bench_blocks *b, int64_t stream)
{
    uint8_t head[CHUNK_HEAD + 1];

    for (unsigned i = 0; i < b->n_maps; i++) {
        receive_all(fd, head, sizeof head);
        check_chunk(b, stream, i, head);
        discard(fd, b->block_bytes - 1);
    }
}

uint64_t fetch_blocks(int fd, const struct bench_blocks *b)
{
    const int64_t stream = ask(fd, b);

    if (b->block_bytes >= DISCARDED_BYTES)
        receive_large(fd, b, stream);
    else
        receive_small(fd, b, stream);
    return b->n_maps * b->block_bytes;
}

void ask_for_blocks(int fd, const struct bench_blocks *b)
{
    (void)ask(fd, b);
}
