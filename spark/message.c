/* SPDX-License-Identifier: Apache-2.0 */

/* See message.h. */

#include "spark/message.h"

#include <errno.h>

#include "util/macros.h"

enum { STREAM_HANDLE = 3, BLOCKS_REMOVED = 8, LOCAL_DIRS = 11, CORRUPTION_CAUSE = 17 };

/* ---- arrays ------------------------------------------------------------------------------- */

struct nm_bytes nm_spark_texts_next(struct nm_spark_texts *texts)
{
    struct nm_bytes text = {};

    (void)nm_spark_take_text(&texts->rest, &text);
    texts->n--;
    return text;
}

/* Removes an array of texts, and checks it. */
static int take_texts(struct nm_bytes *from, struct nm_spark_texts *ret)
{
    struct nm_spark_texts texts;
    struct nm_bytes text;
    int r = nm_spark_take_count(from, sizeof(int32_t), &texts.n);

    texts.rest = *from;
    for (uint32_t i = 0; r == 0 && i < texts.n; i++)
        r = nm_spark_take_text(from, &text);
    if (r == 0)
        *ret = texts;
    return r;
}

/* ---- blocks ------------------------------------------------------------------------------- */

static uint32_t take_list(struct nm_spark_blocks *b)
{
    uint32_t n = 0;

    (void)nm_spark_take_count(&b->lists, sizeof(int32_t), &n);
    return n;
}

static struct nm_spark_block next_of_ids(struct nm_spark_blocks *b)
{
    struct nm_spark_block block = {};

    (void)nm_spark_block_parse(nm_spark_texts_next(&b->ids), &block);
    return block;
}

/* The first eight bytes of `maps` are the map of the current list, if reducers of it are left. */
static struct nm_spark_block next_of_maps(struct nm_spark_blocks *b)
{
    struct nm_spark_block block = {.kind = NM_SPARK_BLOCK_SHUFFLE, .set = b->shuffle};
    struct nm_bytes map;

    if (b->n_in_list == 0)
        b->n_in_list = take_list(b);
    map = b->maps;
    (void)nm_spark_take_i64(&map, &block.part);
    (void)nm_spark_take_i32(&b->lists, &block.first);
    block.end = block.first + 1;
    if (b->is_batch)
        (void)nm_spark_take_i32(&b->lists, &block.end);
    b->n_in_list -= b->is_batch ? 2 : 1;
    if (b->n_in_list == 0)
        b->maps = map;
    return block;
}

struct nm_spark_block nm_spark_blocks_next(struct nm_spark_blocks *blocks)
{
    blocks->n_chunks--;
    return blocks->ids.rest.data ? next_of_ids(blocks) : next_of_maps(blocks);
}

/* Checks the list of a map's reducers, and adds its chunks. */
static int check_list(struct nm_bytes *from, struct nm_spark_blocks *b)
{
    int32_t reduce = 0, former = 0;
    uint32_t n;
    int r = nm_spark_take_count(from, sizeof reduce, &n);

    if (r < 0 || n == 0 || (b->is_batch && n != 2))
        return -EBADMSG;
    for (uint32_t i = 0; i < n; i++) {
        (void)nm_spark_take_i32(from, &reduce);
        if (reduce < 0 || reduce == INT32_MAX || (b->is_batch && reduce < former))
            return -EBADMSG;
        former = reduce;
    }
    b->n_chunks += b->is_batch ? 1 : n;
    return 0;
}

/* Removes the array of lists without looking at its reducers, because is_batch follows it. */
static int skip_lists(struct nm_bytes *from, uint32_t n_lists)
{
    uint32_t n;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n_lists; i++)
        if ((r = nm_spark_take_count(from, sizeof(int32_t), &n)) == 0)
            (void)nm_bytes_take(from, n * sizeof(int32_t));
    return r;
}

static int check_maps(struct nm_bytes maps)
{
    int64_t map;

    while (nm_spark_take_i64(&maps, &map) == 0)
        if (map < 0)
            return -EBADMSG;
    return 0;
}

static int take_blocks(struct nm_bytes *from, struct nm_spark_blocks *ret)
{
    struct nm_spark_blocks b = {};
    struct nm_bytes lists;
    uint32_t n_maps, n_lists;
    uint8_t is_batch;
    int r;

    if ((r = nm_spark_take_i32(from, &b.shuffle)) < 0 ||
        (r = nm_spark_take_count(from, sizeof(int64_t), &n_maps)) < 0)
        return r;
    b.maps = nm_bytes_take(from, n_maps * sizeof(int64_t));
    if ((r = nm_spark_take_count(from, sizeof(int32_t), &n_lists)) < 0)
        return r;
    b.lists = *from;
    if ((r = skip_lists(from, n_lists)) < 0 || (r = nm_spark_take_u8(from, &is_batch)) < 0)
        return r;
    if (b.shuffle < 0 || n_maps != n_lists || n_maps == 0)
        return -EBADMSG;
    b.is_batch = is_batch != 0;
    lists = b.lists;
    r = check_maps(b.maps);
    for (uint32_t i = 0; r == 0 && i < n_lists; i++)
        r = check_list(&lists, &b);
    if (r == 0)
        *ret = b;
    return r;
}

static int take_ids(struct nm_bytes *from, struct nm_spark_blocks *ret)
{
    struct nm_spark_blocks b = {};
    struct nm_spark_texts ids;
    struct nm_spark_block block;
    int r = take_texts(from, &b.ids);

    if (r == 0 && b.ids.n == 0)
        r = -EBADMSG;
    ids = b.ids;
    while (r == 0 && ids.n > 0)
        r = nm_spark_block_parse(nm_spark_texts_next(&ids), &block);
    b.n_chunks = b.ids.n;
    if (r == 0)
        *ret = b;
    return r;
}

/* ---- messages ----------------------------------------------------------------------------- */

static int take_app_and_exec(struct nm_bytes *from, struct nm_spark_message *m)
{
    int r = nm_spark_take_text(from, &m->app);

    return r < 0 ? r : nm_spark_take_text(from, &m->exec);
}

static int parse_open(struct nm_bytes *from, struct nm_spark_message *m)
{
    int r = take_app_and_exec(from, m);

    return r < 0 ? r : take_ids(from, &m->blocks);
}

static int parse_fetch(struct nm_bytes *from, struct nm_spark_message *m)
{
    int r = take_app_and_exec(from, m);

    return r < 0 ? r : take_blocks(from, &m->blocks);
}

static int parse_register(struct nm_bytes *from, struct nm_spark_message *m)
{
    int r;

    if ((r = take_app_and_exec(from, m)) < 0 || (r = take_texts(from, &m->texts)) < 0 ||
        (r = nm_spark_take_i32(from, &m->n_sub_dirs)) < 0)
        return r;
    return nm_spark_take_text(from, &m->manager);
}

static int parse_remove(struct nm_bytes *from, struct nm_spark_message *m)
{
    int r = take_app_and_exec(from, m);

    return r < 0 ? r : take_texts(from, &m->texts);
}

static int parse_get_dirs(struct nm_bytes *from, struct nm_spark_message *m)
{
    int r = nm_spark_take_text(from, &m->app);

    return r < 0 ? r : take_texts(from, &m->texts);
}

static int parse_diagnose(struct nm_bytes *from, struct nm_spark_message *m)
{
    struct nm_spark_block *b = &m->block;
    int r;

    if ((r = take_app_and_exec(from, m)) < 0 || (r = nm_spark_take_i32(from, &b->set)) < 0 ||
        (r = nm_spark_take_i64(from, &b->part)) < 0 || (r = nm_spark_take_i32(from, &b->first)) < 0 ||
        (r = nm_spark_take_i64(from, &m->checksum)) < 0 || (r = nm_spark_take_text(from, &m->algorithm)) < 0)
        return r;
    if (b->set < 0 || b->part < 0 || b->first < 0 || b->first == INT32_MAX)
        return -EBADMSG;
    b->end = b->first + 1;
    return 0;
}

static bool is_of_push(uint8_t code)
{
    return (code >= 12 && code <= 15) || code == 19;
}

int nm_spark_message_pusher(struct nm_bytes message, struct nm_bytes *ret_app)
{
    uint8_t code;

    if (nm_spark_take_u8(&message, &code) < 0 || !is_of_push(code))
        return -EBADMSG;
    return nm_spark_take_text(&message, ret_app);
}

/* Returns why the server does not handle messages with this code. The text for push-based shuffle is that of Spark's
 * server without a merge manager. */
static const char *refusal_of(uint8_t code)
{
    if (is_of_push(code))
        return "Cannot handle shuffle block merge";
    if (code == 4 || code == 5)
        return "Unexpected message: this server has no Mesos";
    return "Unexpected message: this server does not handle it";
}

int nm_spark_message_parse(struct nm_bytes message, struct nm_spark_message *ret, const char **ret_why)
{
    static int (*const parsers[])(struct nm_bytes *from, struct nm_spark_message *m) = {
        [NM_SPARK_OPEN_BLOCKS] = parse_open,     [NM_SPARK_REGISTER] = parse_register,
        [NM_SPARK_REMOVE_BLOCKS] = parse_remove, [NM_SPARK_FETCH_BLOCKS] = parse_fetch,
        [NM_SPARK_GET_DIRS] = parse_get_dirs,    [NM_SPARK_DIAGNOSE] = parse_diagnose,
    };
    struct nm_spark_message m = {};
    uint8_t code;
    int r = nm_spark_take_u8(&message, &code);

    if (r < 0)
        return r;
    if (code >= NM_ARRAY_SIZE(parsers) || !parsers[code]) {
        *ret_why = refusal_of(code);
        return -EOPNOTSUPP;
    }
    m.code = code;
    if ((r = parsers[code](&message, &m)) == 0)
        *ret = m;
    return r;
}

/* ---- replies ------------------------------------------------------------------------------ */

void nm_spark_put_handle(struct nm_writer *w, int64_t stream, uint32_t n_chunks)
{
    nm_spark_put_u8(w, STREAM_HANDLE);
    nm_spark_put_i64(w, stream);
    nm_spark_put_i32(w, (int32_t)n_chunks);
}

void nm_spark_put_removed(struct nm_writer *w, uint32_t n_blocks)
{
    nm_spark_put_u8(w, BLOCKS_REMOVED);
    nm_spark_put_i32(w, (int32_t)n_blocks);
}

void nm_spark_put_cause(struct nm_writer *w, enum nm_spark_cause cause)
{
    nm_spark_put_u8(w, CORRUPTION_CAUSE);
    nm_spark_put_u8(w, (uint8_t)cause);
}

void nm_spark_dirs_begin(struct nm_spark_dirs_reply *reply, struct nm_bytes exec, uint32_t n_dirs)
{
    nm_spark_put_text(&reply->execs, exec);
    nm_spark_put_i32(&reply->counts, (int32_t)n_dirs);
    reply->n++;
}

void nm_spark_dirs_add(struct nm_spark_dirs_reply *reply, const char *local, const char *path)
{
    nm_spark_put_i32(&reply->dirs, (int32_t)(strlen(local) + 1 + strlen(path)));
    nm_writer_put(&reply->dirs, nm_bytes_of(local));
    nm_writer_put(&reply->dirs, nm_bytes_of("/"));
    nm_writer_put(&reply->dirs, nm_bytes_of(path));
    reply->n_dirs++;
}

/* Appends the bytes of another writer. */
static void put_all(struct nm_writer *w, const struct nm_writer *from)
{
    w->failed |= from->failed;
    nm_writer_put(w, (struct nm_bytes){from->data, from->size});
}

void nm_spark_put_dirs(struct nm_writer *w, const struct nm_spark_dirs_reply *reply)
{
    nm_spark_put_u8(w, LOCAL_DIRS);
    nm_spark_put_i32(w, (int32_t)reply->n);
    put_all(w, &reply->execs);
    nm_spark_put_i32(w, (int32_t)reply->n);
    put_all(w, &reply->counts);
    nm_spark_put_i32(w, (int32_t)reply->n_dirs);
    put_all(w, &reply->dirs);
}

void nm_spark_dirs_done(struct nm_spark_dirs_reply *reply)
{
    nm_writer_done(&reply->execs);
    nm_writer_done(&reply->counts);
    nm_writer_done(&reply->dirs);
}
