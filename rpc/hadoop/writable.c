/* SPDX-License-Identifier: Apache-2.0 */

/* See writable.h. */

#include "rpc/hadoop/writable.h"

#include <errno.h>
#include <stdlib.h>

#include "util/macros.h"

int nm_writable_vint(struct nm_bytes *from, int64_t *ret)
{
    int8_t first;
    unsigned n;
    uint64_t value = 0;

    if (from->size == 0)
        return -EBADMSG;
    first = (int8_t)from->data[0];
    n = first >= -112 ? 0 : first >= -120 ? (unsigned)(-112 - first) : (unsigned)(-120 - first);
    if (from->size - 1 < n)
        return -EBADMSG;
    for (unsigned i = 1; i <= n; i++)
        value = value << 8 | from->data[i];
    if (n == 0)
        *ret = first;
    else
        *ret = (int64_t)(first < -120 ? ~value : value);
    (void)nm_bytes_take(from, 1 + n);
    return 0;
}

int nm_writable_bytes(struct nm_bytes *from, struct nm_bytes *ret)
{
    struct nm_bytes rest = *from;
    int64_t size;
    int r = nm_writable_vint(&rest, &size);

    if (r < 0)
        return r;
    if (size < 0 || (uint64_t)size > rest.size)
        return -EBADMSG;
    *ret = nm_bytes_take(&rest, (size_t)size);
    *from = rest;
    return 0;
}

/* ---- writing ------------------------------------------------------------------------------ */

void nm_writer_done(struct nm_writer *w)
{
    if (w->data)
        explicit_bzero(w->data, w->size);
    free(w->data);
    *w = (struct nm_writer){};
}

int nm_writer_result(const struct nm_writer *w, struct nm_bytes *ret)
{
    if (w->failed)
        return -ENOMEM;
    *ret = (struct nm_bytes){w->data, w->size};
    return 0;
}

/* Enlarges the buffer without realloc(), which could leave a copy of passwords in freed memory. */
static bool make_room(struct nm_writer *w, size_t size)
{
    size_t room = NM_MAX(w->size + size, 2 * w->room);
    uint8_t *data;

    if (w->failed || size <= w->room - w->size)
        return !w->failed;
    data = malloc(room);
    if (!data) {
        w->failed = true;
        return false;
    }
    if (w->size > 0) {
        (void)memcpy(data, w->data, w->size);
        explicit_bzero(w->data, w->size);
    }
    free(w->data);
    w->data = data;
    w->room = room;
    return true;
}

uint8_t *nm_writer_reserve(struct nm_writer *w, size_t size)
{
    return make_room(w, size) ? w->data + w->size : NULL;
}

void nm_writer_put(struct nm_writer *w, struct nm_bytes bytes)
{
    if (bytes.size == 0 || !make_room(w, bytes.size))
        return;
    (void)memcpy(w->data + w->size, bytes.data, bytes.size);
    w->size += bytes.size;
}

void nm_writer_vint(struct nm_writer *w, int64_t value)
{
    uint64_t rest = (uint64_t)(value < 0 ? ~value : value);
    uint8_t out[9];
    unsigned n = 1;

    if (value >= -112 && value <= 127) {
        out[0] = (uint8_t)value;
    } else {
        while (n < 8 && rest >> (8 * n) != 0)
            n++;
        out[0] = (uint8_t)((value < 0 ? -120 : -112) - (int)n);
        for (unsigned i = 0; i < n; i++)
            out[1 + i] = (uint8_t)(rest >> (8 * (n - 1 - i)));
        n++;
    }
    nm_writer_put(w, (struct nm_bytes){out, n});
}

void nm_writer_bytes(struct nm_writer *w, struct nm_bytes bytes)
{
    nm_writer_vint(w, (int64_t)bytes.size);
    nm_writer_put(w, bytes);
}
