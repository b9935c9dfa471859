/* SPDX-License-Identifier: Apache-2.0 */

/* See slot-log.h. A slot consists of a checksum (four bytes) of the rest of the slot, a size (two bytes), and a packed
 * message of that size. */

#include "yarn/proxy/slot-log.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rpc/hadoop/arena.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/fnv1a.h"
#include "yarn/id-messages.h"

#define SLOT_BYTES 1024u /* enough for two names of maximum length and all other members */
#define SUM_BYTES 4u
#define SIZE_BYTES 2u
#define HEAD_BYTES (SUM_BYTES + SIZE_BYTES)

struct nm_yarn_slot_log {
    const struct nm_yarn_slot_type *type;
    int fd;         /* -EBADF: there is no file */
    int error;      /* why there is no file */
    uint64_t count; /* number of all entries that were ever added */
    uint8_t *ring;
};

static struct nm_yarn_slot_entry *entry_at(const struct nm_yarn_slot_log *l, uint64_t number)
{
    return (void *)(l->ring + number % NM_YARN_SLOTS * l->type->entry_bytes);
}

static void clear_entry(const struct nm_yarn_slot_log *l, struct nm_yarn_slot_entry *e)
{
    l->type->done(e);
    (void)memset(e, 0, l->type->entry_bytes);
}

/* ---- slots ------------------------------------------------------------------------------------ */

/* Returns the checksum of a slot that has `size` bytes after the head. */
static uint32_t sum_of(const uint8_t *slot, size_t size)
{
    return nm_fnv1a_32(slot + SUM_BYTES, SIZE_BYTES + size);
}

void nm_yarn_slot_log_write(const struct nm_yarn_slot_log *l, uint64_t number, const ProtobufCMessage *m)
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
    (void)!pwrite(l->fd, slot, HEAD_BYTES + size, (off_t)(number % NM_YARN_SLOTS * SLOT_BYTES));
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

/* An entry with the maximum number is refused, because no newer entry could have a higher number. */
static bool is_whole(const struct nm_yarn_slot_head *h, size_t slot)
{
    return h->number < INT64_MAX && h->number % NM_YARN_SLOTS == slot && nm_yarn_is_container(h->container) &&
           nm_yarn_is_container(h->master);
}

static void load_entry(struct nm_yarn_slot_log *l, const ProtobufCMessage *m, size_t slot)
{
    struct nm_yarn_slot_entry *e = entry_at(l, slot);
    struct nm_yarn_slot_head head = {};

    if (!l->type->load(m, &head, e) || !is_whole(&head, slot)) {
        clear_entry(l, e);
        return;
    }
    e->used = true;
    e->container = nm_yarn_container_of(head.container);
    e->master = nm_yarn_container_of(head.master);
    if (head.number >= l->count)
        l->count = head.number + 1;
}

static void load_all(struct nm_yarn_slot_log *l)
{
    uint8_t slot[SLOT_BYTES];
    ssize_t n = 1;

    for (size_t i = 0; n > 0 && i < NM_YARN_SLOTS; i++) {
        struct nm_bytes packed = {};
        const ProtobufCMessage *m;
        struct nm_arena a;

        n = pread(l->fd, slot, sizeof slot, (off_t)(i * SLOT_BYTES));
        if (n > 0)
            packed = message_in((struct nm_bytes){slot, (size_t)n});
        if (packed.size == 0)
            continue;
        nm_arena_init(&a, nm_arena_limit(packed.size), NULL);
        m = nm_arena_unpack(&a, l->type->message, packed);
        if (m)
            load_entry(l, m, i);
        nm_arena_done(&a);
    }
}

/* ---- interface -------------------------------------------------------------------------------- */

static size_t ring_bytes(const struct nm_yarn_slot_type *type)
{
    return NM_YARN_SLOTS * type->entry_bytes;
}

int nm_yarn_slot_log_new(int dir_fd, const struct nm_yarn_slot_type *type, struct nm_yarn_slot_log **ret)
{
    struct nm_yarn_slot_log *l = calloc(1, sizeof *l);
    /* Use a mapping, so that only pages with entries are resident. calloc() could reuse freed memory and clear it. */
    uint8_t *ring = mmap(NULL, ring_bytes(type), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd;

    if (!l || ring == MAP_FAILED) {
        free(l);
        if (ring != MAP_FAILED)
            (void)munmap(ring, ring_bytes(type));
        return -ENOMEM;
    }
    fd = nm_open_regular_at(dir_fd, type->file_name);
    *l = (struct nm_yarn_slot_log){.type = type, .fd = fd >= 0 ? fd : -EBADF, .error = fd >= 0 ? 0 : fd, .ring = ring};
    load_all(l);
    *ret = l;
    return 0;
}

int nm_yarn_slot_log_error(const struct nm_yarn_slot_log *l)
{
    return l->error;
}

struct nm_yarn_slot_log *nm_yarn_slot_log_free(struct nm_yarn_slot_log *l)
{
    if (!l)
        return NULL;
    for (size_t i = 0; i < NM_YARN_SLOTS; i++)
        l->type->done(entry_at(l, i));
    l->fd = nm_close(l->fd);
    (void)munmap(l->ring, ring_bytes(l->type));
    free(l);
    return NULL;
}

void *nm_yarn_slot_log_add(struct nm_yarn_slot_log *l, const struct nm_yarn_container_id *container,
                           const struct nm_yarn_container_id *master, uint64_t *ret_number)
{
    struct nm_yarn_slot_entry *e = entry_at(l, l->count);

    clear_entry(l, e);
    *e = (struct nm_yarn_slot_entry){true, *container, *master};
    *ret_number = l->count++;
    return e;
}

void *nm_yarn_slot_log_get(const struct nm_yarn_slot_log *l, const struct nm_yarn_container_id *container,
                           uint64_t *ret_number)
{
    const uint64_t n = NM_MIN(l->count, (uint64_t)NM_YARN_SLOTS);

    for (uint64_t i = 1; i <= n; i++) {
        struct nm_yarn_slot_entry *e = entry_at(l, l->count - i);

        if (!e->used || !nm_yarn_same_container(&e->container, container))
            continue;
        *ret_number = l->count - i;
        return e;
    }
    return NULL;
}

const void *nm_yarn_slot_log_find(const struct nm_yarn_slot_log *l, const char *container)
{
    const uint64_t n = NM_MIN(l->count, (uint64_t)NM_YARN_SLOTS);
    char text[NM_YARN_ID_SIZE];

    for (uint64_t i = 1; i <= n; i++) {
        const struct nm_yarn_slot_entry *e = entry_at(l, l->count - i);

        if (e->used && nm_streq(nm_yarn_container_id_format(&e->container, text), container))
            return e;
    }
    return NULL;
}
