/* SPDX-License-Identifier: Apache-2.0 */

/* See slot-file.h. A slot consists of a checksum (four bytes) of the rest of the slot, a size (two bytes), and a packed
 * message of that size. */

#include "yarn/proxy/slot-file.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "rpc/hadoop/arena.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/fnv1a.h"

#define SLOT_BYTES 1024u /* enough for two names of maximum length and all other members */
#define SUM_BYTES 4u
#define SIZE_BYTES 2u
#define HEAD_BYTES (SUM_BYTES + SIZE_BYTES)

void nm_yarn_slot_file_open(int dir_fd, const char *name, struct nm_yarn_slot_file *ret)
{
    const int fd = nm_open_regular_at(dir_fd, name);

    *ret = (struct nm_yarn_slot_file){fd >= 0 ? fd : -EBADF, fd >= 0 ? 0 : fd};
}

void nm_yarn_slot_file_done(struct nm_yarn_slot_file *f)
{
    f->fd = nm_close(f->fd);
}

/* Returns the checksum of a slot that has `size` bytes after the head. */
static uint32_t sum_of(const uint8_t *slot, size_t size)
{
    return nm_fnv1a_32(slot + SUM_BYTES, SIZE_BYTES + size);
}

void nm_yarn_slot_file_write(const struct nm_yarn_slot_file *f, uint64_t n, const ProtobufCMessage *m)
{
    const size_t size = protobuf_c_message_get_packed_size(m);
    uint8_t slot[SLOT_BYTES];
    uint32_t sum;

    if (size > SLOT_BYTES - HEAD_BYTES)
        return;
    slot[SUM_BYTES] = (uint8_t)(size >> 8);
    slot[SUM_BYTES + 1] = (uint8_t)size;
    (void)protobuf_c_message_pack(m, slot + HEAD_BYTES);
    sum = htobe32(sum_of(slot, size));
    memcpy(slot, &sum, SUM_BYTES);
    /* if writing fails, the entry is kept in memory only */
    (void)!pwrite(f->fd, slot, HEAD_BYTES + size, (off_t)(n % NM_YARN_SLOTS * SLOT_BYTES));
}

/* Returns the packed message in a slot. size 0: the slot is empty or damaged. */
static struct nm_bytes message_in(struct nm_bytes slot)
{
    uint32_t sum;
    size_t size;

    if (slot.size < HEAD_BYTES)
        return (struct nm_bytes){};
    size = (size_t)slot.data[SUM_BYTES] << 8 | slot.data[SUM_BYTES + 1];
    memcpy(&sum, slot.data, SUM_BYTES);
    if (size > slot.size - HEAD_BYTES || be32toh(sum) != sum_of(slot.data, size))
        return (struct nm_bytes){};
    return (struct nm_bytes){slot.data + HEAD_BYTES, size};
}

void nm_yarn_slot_file_read(const struct nm_yarn_slot_file *f, const ProtobufCMessageDescriptor *what,
                            nm_yarn_slot_cb_t cb, void *userdata)
{
    uint8_t slot[SLOT_BYTES];
    ssize_t n = 1;

    for (size_t i = 0; n > 0 && i < NM_YARN_SLOTS; i++) {
        struct nm_bytes packed = {};
        const ProtobufCMessage *m;
        struct nm_arena a;

        n = pread(f->fd, slot, sizeof slot, (off_t)(i * SLOT_BYTES));
        if (n > 0)
            packed = message_in((struct nm_bytes){slot, (size_t)n});
        if (packed.size == 0)
            continue;
        nm_arena_init(&a, nm_arena_limit(packed.size), NULL);
        m = nm_arena_unpack(&a, what, packed);
        if (m)
            cb(m, i, userdata);
        nm_arena_done(&a);
    }
}
