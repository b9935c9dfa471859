/* SPDX-License-Identifier: Apache-2.0 */

/* See index.h. */

#include "shuffle/index.h"

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include <zlib.h>

#include "util/error.h"

#define RECORD_BYTES 24u
#define CHECKSUM_BYTES 8u
/* A million reducers. Whoever writes a longer index wants to keep us reading. */
#define INDEX_MAX_BYTES (1000000u * RECORD_BYTES + CHECKSUM_BYTES)

/* pread, since the file's position is of no use to anybody: three places of it are read. */
static int read_all(int fd, uint8_t *to, size_t size, uint64_t from)
{
    while (size > 0) {
        ssize_t n = pread(fd, to, size, (off_t)from);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -EBADMSG; /* it became shorter meanwhile */
        to += n;
        size -= (size_t)n;
        from += (uint64_t)n;
    }
    return 0;
}

/* In blocks of the stack: an index of a million reducers would be 24 MB for each request that is open. */
static int checksum(int fd, uint64_t size_bytes, uint64_t *ret)
{
    uint8_t block[16384];
    uLong crc = crc32(0, NULL, 0);

    for (uint64_t at = 0; at < size_bytes; at += sizeof block) {
        size_t n = (size_t)NM_MIN(size_bytes - at, (uint64_t)sizeof block);
        int r = read_all(fd, block, n, at);

        if (r < 0)
            return r;
        crc = crc32(crc, block, (uInt)n);
    }
    *ret = crc;
    return 0;
}

/* Java's numbers are signed. What its user wrote may be anything, whatever the checksum says. */
static bool is_length(uint64_t n)
{
    return n <= INT64_MAX;
}

static int check(int fd, uint64_t size_bytes)
{
    uint64_t stored, computed;
    int r;

    if ((r = checksum(fd, size_bytes - CHECKSUM_BYTES, &computed)) < 0 ||
        (r = read_all(fd, (uint8_t *)&stored, sizeof stored, size_bytes - CHECKSUM_BYTES)) < 0)
        return r;
    return be64toh(stored) == computed ? 0 : -EBADMSG;
}

int nm_shuffle_index_unchecked(const struct stat *st, uint32_t reduce, struct nm_shuffle_checked *checked,
                               uint64_t *ret_bytes)
{
    const uint64_t size_bytes = (uint64_t)st->st_size;

    if (size_bytes < CHECKSUM_BYTES || size_bytes > INDEX_MAX_BYTES ||
        (size_bytes - CHECKSUM_BYTES) % RECORD_BYTES != 0)
        return -EBADMSG;
    if (reduce >= (size_bytes - CHECKSUM_BYTES) / RECORD_BYTES)
        return -ERANGE;
    *ret_bytes = nm_shuffle_checked_has(checked, st) ? 0 : size_bytes;
    return 0;
}

/* The checksum is gone through before a record is believed, as Hadoop does it: a disk that returns rubbish is found
 * here and not by the reducer, which would take it for the network's fault. Each reducer asks for another record of
 * the same file, so the file is remembered. */
int nm_shuffle_index_read(int fd, const struct stat *st, uint32_t reduce, struct nm_shuffle_checked *checked,
                          struct nm_shuffle_part *ret)
{
    uint64_t record[3], unchecked_bytes;
    int r;

    if ((r = nm_shuffle_index_unchecked(st, reduce, checked, &unchecked_bytes)) < 0 ||
        (unchecked_bytes > 0 && (r = check(fd, unchecked_bytes)) < 0) ||
        (r = read_all(fd, (uint8_t *)record, sizeof record, (uint64_t)reduce * RECORD_BYTES)) < 0)
        return r;
    if (unchecked_bytes > 0)
        nm_shuffle_checked_add(checked, st);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(record); i++)
        if (!is_length(record[i] = be64toh(record[i])))
            return -EBADMSG;
    if (!is_length(record[0] + record[2]))
        return -EBADMSG;
    *ret = (struct nm_shuffle_part){record[0], record[1], record[2]};
    return 0;
}
