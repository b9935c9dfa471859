/* SPDX-License-Identifier: Apache-2.0 */

/* See index.h. */

#include "shuffle/index.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "util/error.h"

#define CHECKSUM_BYTES 8u
/* Size of the index of a million reducers. A longer index could only be meant to keep this process busy. */
#define INDEX_MAX_BYTES (1000000u * NM_SHUFFLE_RECORD_BYTES + CHECKSUM_BYTES)

/* Uses pread, because several positions of the file are read. */
static int read_all(int fd, uint8_t *to, size_t size, uint64_t from)
{
    while (size > 0) {
        ssize_t n = pread(fd, to, size, (off_t)from);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -EBADMSG; /* the file was truncated after it was opened */
        to += n;
        size -= (size_t)n;
        from += (uint64_t)n;
    }
    return 0;
}

/* Reads into `keep`, which has room for the whole file, or if it is NULL, in blocks into the stack: an index of a
 * million reducers would take 24 MB for each open request. */
static int checksum(int fd, uint64_t size_bytes, uint8_t *keep, uint64_t *ret)
{
    uint8_t block[16384];
    uLong crc = crc32(0, NULL, 0);

    for (uint64_t at = 0; at < size_bytes; at += sizeof block) {
        size_t n = (size_t)NM_MIN(size_bytes - at, (uint64_t)sizeof block);
        uint8_t *to = keep ? keep + at : block;
        int r = read_all(fd, to, n, at);

        if (r < 0)
            return r;
        crc = crc32(crc, to, (uInt)n);
    }
    *ret = crc;
    return 0;
}

/* Java's numbers are signed. The user wrote the file, so the file may contain any number, even if the checksum is
 * right. */
static bool is_length(uint64_t n)
{
    return n <= INT64_MAX;
}

static int check(int fd, uint64_t size_bytes, uint8_t *keep)
{
    uint64_t stored, computed;
    int r;

    if ((r = checksum(fd, size_bytes - CHECKSUM_BYTES, keep, &computed)) < 0 ||
        (r = read_all(fd, (uint8_t *)&stored, sizeof stored, size_bytes - CHECKSUM_BYTES)) < 0)
        return r;
    return be64toh(stored) == computed ? 0 : -EBADMSG;
}

int nm_shuffle_index_unchecked(const struct stat *st, struct nm_shuffle_range range,
                               struct nm_shuffle_index_cache *cache, uint64_t *ret_bytes)
{
    const uint64_t size_bytes = (uint64_t)st->st_size;

    if (size_bytes < CHECKSUM_BYTES || size_bytes > INDEX_MAX_BYTES ||
        (size_bytes - CHECKSUM_BYTES) % NM_SHUFFLE_RECORD_BYTES != 0)
        return -EBADMSG;
    if ((uint64_t)range.first + range.n > (size_bytes - CHECKSUM_BYTES) / NM_SHUFFLE_RECORD_BYTES)
        return -ERANGE;
    *ret_bytes = nm_shuffle_index_cache_has(cache, st) ? 0 : size_bytes;
    return 0;
}

/* Appends a record's part to the parts before it. MapReduce writes the parts in order and without gaps; the position of
 * an empty part does not matter. */
static int append(struct nm_shuffle_part *whole, const struct nm_shuffle_part *part)
{
    if (!is_length(part->start_bytes) || !is_length(part->raw_bytes) || !is_length(part->part_bytes) ||
        !is_length(part->start_bytes + part->part_bytes))
        return -EBADMSG;
    if (whole->part_bytes > 0 && part->part_bytes > 0 && part->start_bytes != whole->start_bytes + whole->part_bytes)
        return -EBADMSG;
    if (whole->part_bytes == 0)
        whole->start_bytes = part->start_bytes;
    /* the sum cannot overflow, because the whole ends where this valid part ends */
    whole->part_bytes += part->part_bytes;
    whole->raw_bytes = nm_add_u64(whole->raw_bytes, part->raw_bytes);
    return 0;
}

/* Where records are read: from a content in memory, or if it is NULL, from the file. */
struct source {
    int fd;
    const struct nm_shuffle_index_content *content;
};

static int read_source(const struct source *source, void *to, size_t size, uint64_t from)
{
    if (!source->content)
        return read_all(source->fd, to, size, from);
    memcpy(to, source->content->bytes + from, size);
    return 0;
}

static int read_records(const struct source *source, struct nm_shuffle_range range,
                        struct nm_shuffle_lengths *ret_lengths, struct nm_shuffle_part *ret)
{
    struct nm_shuffle_part whole = {0};
    uint64_t records[128][3];
    int r;

    static_assert(sizeof records[0] == NM_SHUFFLE_RECORD_BYTES, "a record is as long in memory as in the file");
    for (uint32_t i = 0; i < range.n; i++) {
        const uint64_t *record = records[i % NM_ARRAY_SIZE(records)];
        const size_t n = NM_MIN((size_t)(range.n - i), NM_ARRAY_SIZE(records));
        struct nm_shuffle_part part;

        if (i % NM_ARRAY_SIZE(records) == 0 &&
            (r = read_source(source, records, n * sizeof *records,
                             ((uint64_t)range.first + i) * NM_SHUFFLE_RECORD_BYTES)) < 0)
            return r;
        part = (struct nm_shuffle_part){be64toh(record[0]), be64toh(record[1]), be64toh(record[2])};
        if ((r = append(&whole, &part)) < 0)
            return r;
        if (ret_lengths)
            ret_lengths[i] = (struct nm_shuffle_lengths){part.raw_bytes, part.part_bytes};
    }
    *ret = whole;
    return 0;
}

/* Checks the checksum before a record is used, as Hadoop does. So this node detects a disk that returns wrong data;
 * otherwise the reducer would detect wrong data and blame the network. Each reducer requests another record of the same
 * file, so checked files are remembered. */
int nm_shuffle_index_read(int fd, const struct stat *st, struct nm_shuffle_range range,
                          struct nm_shuffle_index_cache *cache, uint64_t job,
                          struct nm_shuffle_lengths *ret_lengths, struct nm_shuffle_part *ret)
{
    _cleanup_(nm_shuffle_index_content_releasep) struct nm_shuffle_index_content *content = NULL;
    uint64_t unchecked_bytes;
    int r;

    if ((r = nm_shuffle_index_unchecked(st, range, cache, &unchecked_bytes)) < 0)
        return r;
    if (unchecked_bytes > 0) {
        content = nm_shuffle_index_cache_reserve(cache, job, unchecked_bytes);
        if ((r = check(fd, unchecked_bytes, content ? content->bytes : NULL)) < 0)
            return r;
        nm_shuffle_index_cache_add(cache, st, content);
    }
    return read_records(&(struct source){fd, content}, range, ret_lengths, ret);
}

int nm_shuffle_index_parse(const struct nm_shuffle_index_content *content, struct nm_shuffle_range range,
                           struct nm_shuffle_lengths *ret_lengths, struct nm_shuffle_part *ret)
{
    return read_records(&(struct source){-EBADF, content}, range, ret_lengths, ret);
}
