/* SPDX-License-Identifier: Apache-2.0 */

/* See primitive.h. */

#include "spark/primitive.h"

#include <endian.h>
#include <errno.h>

/* ---- reading ------------------------------------------------------------------------------ */

static int take(struct nm_bytes *from, void *ret, size_t size)
{
    if (from->size < size)
        return -EBADMSG;
    (void)memcpy(ret, nm_bytes_take(from, size).data, size);
    return 0;
}

int nm_spark_take_u8(struct nm_bytes *from, uint8_t *ret)
{
    return take(from, ret, sizeof *ret);
}

int nm_spark_take_i32(struct nm_bytes *from, int32_t *ret)
{
    uint32_t value;
    int r = take(from, &value, sizeof value);

    if (r == 0)
        *ret = (int32_t)be32toh(value);
    return r;
}

int nm_spark_take_i64(struct nm_bytes *from, int64_t *ret)
{
    uint64_t value;
    int r = take(from, &value, sizeof value);

    if (r == 0)
        *ret = (int64_t)be64toh(value);
    return r;
}

int nm_spark_take_count(struct nm_bytes *from, size_t item_bytes, uint32_t *ret)
{
    struct nm_bytes rest = *from;
    int32_t n;
    int r = nm_spark_take_i32(&rest, &n);

    if (r < 0)
        return r;
    if (n < 0 || (size_t)n > rest.size / item_bytes)
        return -EBADMSG;
    *ret = (uint32_t)n;
    *from = rest;
    return 0;
}

int nm_spark_take_text(struct nm_bytes *from, struct nm_bytes *ret)
{
    uint32_t size;
    int r = nm_spark_take_count(from, 1, &size);

    if (r == 0)
        *ret = nm_bytes_take(from, size);
    return r;
}

/* ---- writing ------------------------------------------------------------------------------ */

static void put(struct nm_writer *w, const void *data, size_t size)
{
    nm_writer_put(w, (struct nm_bytes){data, size});
}

void nm_spark_put_u8(struct nm_writer *w, uint8_t value)
{
    put(w, &value, sizeof value);
}

void nm_spark_put_i32(struct nm_writer *w, int32_t value)
{
    const uint32_t sent = htobe32((uint32_t)value);

    put(w, &sent, sizeof sent);
}

void nm_spark_put_i64(struct nm_writer *w, int64_t value)
{
    const uint64_t sent = htobe64((uint64_t)value);

    put(w, &sent, sizeof sent);
}

void nm_spark_put_text(struct nm_writer *w, struct nm_bytes text)
{
    nm_spark_put_i32(w, (int32_t)text.size);
    nm_writer_put(w, text);
}
