/* SPDX-License-Identifier: Apache-2.0 */

/* See block-index.h. */

#include "spark/block-index.h"

#include <endian.h>
#include <errno.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/fnv1a.h"
#include "util/macros.h"

/* A file that was changed so recently may change again without another time: the times of files have the kernel's
 * ticks, of at most 10 ms. */
#define SETTLED_USEC (100 * NM_USEC_PER_MSEC)

/* The start of an index in memory. Hard links can give the data files of two maps the same identity. */
struct head {
    int64_t part;
    int64_t set;
};

uint64_t nm_spark_index_app(const char *id)
{
    return nm_fnv1a_64(id);
}

static struct head head_of(const struct nm_spark_index_lookup *l)
{
    return (struct head){l->block->part, l->block->set};
}

/* ---- in memory ---------------------------------------------------------------------------- */

static uint64_t offset_at(const struct nm_shuffle_index_content *content, int32_t reduce)
{
    uint64_t offset;

    (void)memcpy(&offset, content->bytes + sizeof(struct head) + (size_t)reduce * sizeof offset, sizeof offset);
    return be64toh(offset);
}

static int take_range(const struct nm_shuffle_index_content *content, const struct nm_spark_block *block,
                      uint64_t ret[static 2])
{
    if ((uint64_t)block->end >= (content->size_bytes - sizeof(struct head)) / sizeof ret[0])
        return -ERANGE;
    ret[0] = offset_at(content, block->first);
    ret[1] = offset_at(content, block->end);
    return 0;
}

int nm_spark_index_find(const struct nm_spark_index_lookup *l, uint64_t ret[static 2])
{
    _cleanup_(nm_shuffle_index_content_releasep) struct nm_shuffle_index_content *content =
        l->data ? nm_shuffle_index_cache_get(l->cache, l->data) : NULL;
    const struct head head = head_of(l);

    if (!content || content->job != l->app || memcmp(content->bytes, &head, sizeof head) != 0)
        return -ENOENT;
    return take_range(content, l->block, ret);
}

/* ---- in the file -------------------------------------------------------------------------- */

/* Reads the starts of n reducers' parts. The start of a part is the end of the one before. */
static int read_offsets(int fd, int32_t reduce, unsigned n, uint64_t *ret)
{
    const ssize_t size = (ssize_t)(n * sizeof *ret);
    ssize_t got = pread(fd, ret, (size_t)size, (off_t)reduce * (off_t)sizeof *ret);

    if (got < 0)
        return -errno;
    if (got != size)
        return -EBADMSG; /* the file has become shorter */
    for (unsigned i = 0; i < n; i++)
        ret[i] = be64toh(ret[i]);
    return 0;
}

/* Reads the start and the end of a block. Most blocks are of one reducer, so both are read at once. */
static int read_range(int fd, const struct nm_spark_block *block, uint64_t ret[static 2])
{
    int r;

    if (block->end - block->first == 1)
        return read_offsets(fd, block->first, 2, ret);
    r = read_offsets(fd, block->first, 1, ret);
    return r < 0 ? r : read_offsets(fd, block->end, 1, ret + 1);
}

/* Returns whether the times of the file would show a further change of it. */
static bool is_settled(const struct stat *st)
{
    struct timespec now;
    int64_t age_usec;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    age_usec = (now.tv_sec - st->st_ctim.tv_sec) * (int64_t)NM_USEC_PER_SEC +
               (now.tv_nsec - st->st_ctim.tv_nsec) / 1000;
    return age_usec >= (int64_t)SETTLED_USEC;
}

/* Returns memory for the whole index, which is paid, or NULL if it should not be read. An index that was removed from
 * memory is not read again: with too many maps, each would be removed just before its next use. */
static struct nm_shuffle_index_content *reserve(const struct nm_spark_index_lookup *l, uint64_t bytes)
{
    struct nm_shuffle_index_content *content;

    if (!l->cache || !l->data || nm_shuffle_index_cache_has(l->cache, l->data) || !is_settled(l->data))
        return NULL;
    content = nm_shuffle_index_cache_reserve(l->cache, l->app, sizeof(struct head) + bytes);
    if (!content || !l->account || l->account->spend(bytes, l->account->userdata))
        return content;
    return nm_shuffle_index_content_release(content);
}

static int fill(const struct nm_spark_index_lookup *l, int fd, struct nm_shuffle_index_content *content)
{
    const struct head head = head_of(l);
    uint8_t *to = mempcpy(content->bytes, &head, sizeof head);
    const size_t size = content->size_bytes - sizeof head;

    for (size_t n = 0; n < size;) {
        const ssize_t got = pread(fd, to + n, size - n, (off_t)n);

        if (got < 0 && errno != EINTR)
            return -errno;
        if (got == 0)
            return -EBADMSG; /* the file has become shorter */
        n += (size_t)NM_MAX(got, (ssize_t)0);
    }
    return 0;
}

/* Keeps an index only if it belongs to the data file: while Spark replaces both, only one of them may be new. */
static void keep(const struct nm_spark_index_lookup *l, struct nm_shuffle_index_content *content)
{
    const uint64_t n = (content->size_bytes - sizeof(struct head)) / sizeof(uint64_t);
    const bool fits = offset_at(content, (int32_t)(n - 1)) == (uint64_t)l->data->st_size;

    nm_shuffle_index_cache_add(l->cache, l->data, fits ? content : NULL);
}

int nm_spark_index_read(const struct nm_spark_index_lookup *l, int fd, uint64_t bytes, uint64_t ret[static 2])
{
    _cleanup_(nm_shuffle_index_content_releasep) struct nm_shuffle_index_content *content = NULL;
    int r;

    if (bytes == 0 || bytes % sizeof ret[0] != 0)
        return -EBADMSG;
    if ((uint64_t)l->block->end >= bytes / sizeof ret[0])
        return -ERANGE;
    if (!(content = reserve(l, bytes)))
        return read_range(fd, l->block, ret);
    if ((r = fill(l, fd, content)) < 0)
        return r;
    keep(l, content);
    return take_range(content, l->block, ret);
}
