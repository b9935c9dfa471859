/* SPDX-License-Identifier: Apache-2.0 */

/* See streams.h. */

#include "spark/streams.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "util/macros.h"

struct nm_spark_stream {
    LIST_ENTRY(nm_spark_stream) link;
    int64_t id;
    int32_t next; /* number of the next chunk */
    char app[NM_SPARK_ID_SIZE], exec[NM_SPARK_ID_SIZE];
    struct nm_spark_blocks blocks; /* in `memory` */
    uint8_t *memory;
    size_t size;
};

bool nm_spark_copy_id(struct nm_bytes id, char ret[static NM_SPARK_ID_SIZE])
{
    if (id.size == 0 || id.size >= NM_SPARK_ID_SIZE)
        return false;
    for (size_t i = 0; i < id.size; i++)
        if (id.data[i] > 0x7f || (!isalnum(id.data[i]) && (i == 0 || !strchr("._-", id.data[i]) || !id.data[i])))
            return false;
    *(char *)mempcpy(ret, id.data, id.size) = '\0';
    return true;
}

static struct nm_spark_stream *find(const struct nm_spark_streams *s, int64_t id)
{
    struct nm_spark_stream *stream;

    LIST_FOREACH(stream, &s->list, link)
        if (stream->id == id)
            return stream;
    return NULL;
}

/* Makes an id that is not negative: "<stream>_<chunk>" has no signs. */
static int make_id(const struct nm_spark_streams *s, int64_t *ret)
{
    uint64_t id;

    do
        if (getrandom(&id, sizeof id, 0) != sizeof id)
            return -EIO;
    while (find(s, (int64_t)(id & INT64_MAX)));
    *ret = (int64_t)(id & INT64_MAX);
    return 0;
}

static size_t bytes_of(const struct nm_spark_stream *stream)
{
    return sizeof *stream + stream->size;
}

int nm_spark_streams_open(struct nm_spark_streams *s, const struct nm_spark_message *message, uint8_t *memory,
                          size_t size, int64_t *ret_id)
{
    _cleanup_free_ struct nm_spark_stream *stream = NULL;
    int r;

    if (s->n == NM_SPARK_STREAMS_MAX || s->bytes + sizeof *stream + size > NM_SPARK_STREAMS_BYTES_MAX)
        return -EBUSY;
    stream = malloc(sizeof *stream);
    if (!stream)
        return -ENOMEM;
    *stream = (struct nm_spark_stream){.blocks = message->blocks, .size = size};
    if (!nm_spark_copy_id(message->app, stream->app) || !nm_spark_copy_id(message->exec, stream->exec))
        return -EBADMSG;
    if ((r = make_id(s, &stream->id)) < 0)
        return r;
    stream->memory = memory;
    s->n++;
    s->bytes += bytes_of(stream);
    *ret_id = stream->id;
    LIST_INSERT_HEAD(&s->list, stream, link);
    (void)STEAL_PTR(stream);
    return 0;
}

static void end(struct nm_spark_streams *s, struct nm_spark_stream *stream)
{
    LIST_REMOVE(stream, link);
    s->n--;
    s->bytes -= bytes_of(stream);
    free(stream->memory);
    free(stream);
}

int nm_spark_streams_take(struct nm_spark_streams *s, int64_t id, int32_t chunk, struct nm_spark_request *ret)
{
    struct nm_spark_stream *stream = find(s, id);

    if (!stream)
        return -ENOENT;
    if (chunk != stream->next)
        return -EINVAL;
    stream->next++;
    (void)memcpy(ret->app, stream->app, sizeof ret->app);
    (void)memcpy(ret->exec, stream->exec, sizeof ret->exec);
    ret->block = nm_spark_blocks_next(&stream->blocks);
    if (stream->blocks.n_chunks == 0)
        end(s, stream);
    return 0;
}

void nm_spark_streams_done(struct nm_spark_streams *s)
{
    while (!LIST_EMPTY(&s->list))
        end(s, LIST_FIRST(&s->list));
}
