/* SPDX-License-Identifier: Apache-2.0 */

/* See packet.h. */

#include "rpc/hadoop/packet.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>

/* ---- packets ------------------------------------------------------------------------------ */

/* Parses a varint of at most 32 bits: seven bits per byte, lowest bits first. Java refuses a negative length, so the
 * higher bits of the fifth byte must be zero. */
static int take_length(struct nm_bytes *p, size_t *ret)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < 5 && i < p->size; i++) {
        uint8_t byte = p->data[i];

        if (i == 4 && byte > 0x07)
            return -EBADMSG;
        value |= (uint32_t)(byte & 0x7f) << (7 * i);
        if (byte & 0x80)
            continue;
        (void)nm_bytes_take(p, i + 1);
        *ret = value;
        return 0;
    }
    return -EBADMSG;
}

int nm_packet_next(struct nm_bytes *packet, struct nm_bytes *ret_message)
{
    struct nm_bytes rest = *packet;
    size_t size;
    int r = take_length(&rest, &size);

    if (r < 0)
        return r;
    if (size > rest.size)
        return -EBADMSG;
    *ret_message = nm_bytes_take(&rest, size);
    *packet = rest;
    return 0;
}

static unsigned length_size(size_t length)
{
    unsigned n = 1;

    for (; length > 0x7f; length >>= 7)
        n++;
    return n;
}

static uint8_t *put_length(uint8_t *to, size_t length)
{
    for (; length > 0x7f; length >>= 7)
        *to++ = (uint8_t)(length | 0x80);
    *to++ = (uint8_t)length;
    return to;
}

/* Computes the size of each message once, because protobuf-c doesn't store it. Returns the size of the packet. */
static size_t measure(const ProtobufCMessage *const *messages, size_t sizes[])
{
    size_t sum = 0;

    for (unsigned i = 0; messages[i]; i++) {
        assert(i < NM_PACKET_MESSAGES_MAX);
        sizes[i] = protobuf_c_message_get_packed_size(messages[i]);
        sum += length_size(sizes[i]) + sizes[i];
    }
    return sum;
}

int nm_packet_build(const ProtobufCMessage *const *messages, const struct nm_bytes *last,
                    struct nm_packet_frame **ret)
{
    struct nm_packet_frame *f;
    size_t sizes[NM_PACKET_MESSAGES_MAX], size = measure(messages, sizes);
    uint32_t head;
    uint8_t *to;

    if (last)
        size += length_size(last->size) + last->size;
    if (size > INT32_MAX)
        return -EMSGSIZE;
    f = malloc(sizeof *f + sizeof head + size);
    if (!f)
        return -ENOMEM;
    *f = (struct nm_packet_frame){.size = sizeof head + size};
    head = htobe32((uint32_t)size);
    to = mempcpy(f->data, &head, sizeof head);
    for (unsigned i = 0; messages[i]; i++) {
        to = put_length(to, sizes[i]);
        to += protobuf_c_message_pack(messages[i], to);
    }
    if (last) {
        to = put_length(to, last->size);
        if (last->size > 0)
            (void)memcpy(to, last->data, last->size);
    }
    *ret = f;
    return 0;
}

/* ---- reading frames ----------------------------------------------------------------------- */

#define FIRST_ROOM 4096u

void nm_hadoop_frame_init(struct nm_hadoop_frame *f, size_t max, struct nm_quota_account *account)
{
    assert(!f->data && max > 0);
    *f = (struct nm_hadoop_frame){.max = max, .account = account};
}

void nm_hadoop_frame_drop(struct nm_hadoop_frame *f)
{
    if (f->account && f->room > 0)
        nm_quota_account_give(f->account, f->room);
    free(f->data);
    *f = (struct nm_hadoop_frame){.max = f->max, .account = f->account};
}

bool nm_hadoop_frame_begun(const struct nm_hadoop_frame *f)
{
    return f->n_head > 0;
}

/* Doubles the buffer, up to the announced size. */
static int grow(struct nm_hadoop_frame *f)
{
    size_t room = NM_MIN(f->size, NM_MAX((size_t)FIRST_ROOM, 2 * f->room));
    uint8_t *data;

    if (f->account && !nm_quota_account_take(f->account, room - f->room))
        return -ENOBUFS;
    data = realloc(f->data, room);
    if (!data) {
        if (f->account)
            nm_quota_account_give(f->account, room - f->room);
        return -ENOMEM;
    }
    f->data = data;
    f->room = room;
    return 0;
}

int nm_hadoop_frame_want(struct nm_hadoop_frame *f, uint8_t **ret_to, size_t *ret_size)
{
    if (f->n_head < sizeof f->head) {
        *ret_to = f->head + f->n_head;
        *ret_size = sizeof f->head - f->n_head;
        return 0;
    }
    assert(f->n < f->size);
    if (f->n == f->room) {
        int r = grow(f);
        if (r < 0)
            return r;
    }
    *ret_to = f->data + f->n;
    *ret_size = f->room - f->n;
    return 0;
}

static int got_head(struct nm_hadoop_frame *f)
{
    uint32_t size;

    (void)memcpy(&size, f->head, sizeof size);
    f->size = be32toh(size);
    if (f->size == 0)
        return -EBADMSG;
    return f->size > f->max ? -EMSGSIZE : 0;
}

int nm_hadoop_frame_got(struct nm_hadoop_frame *f, size_t n)
{
    if (f->n_head < sizeof f->head) {
        assert(n <= sizeof f->head - f->n_head);
        f->n_head += (unsigned)n;
        return f->n_head < sizeof f->head ? 0 : got_head(f);
    }
    assert(n <= f->room - f->n);
    f->n += n;
    return f->n == f->size ? NM_HADOOP_FRAME_E_WHOLE : 0;
}
