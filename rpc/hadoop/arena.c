/* SPDX-License-Identifier: Apache-2.0 */

/* See arena.h. The arena allocates large pieces, each of which serves several small allocations. */

#include "rpc/hadoop/arena.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>

#include <nettle/base64.h>

#include "rpc/hadoop/fields.h"
#include "util/log.h"

#define PIECE 2048u
#define ALIGNMENT 16u

struct nm_arena_piece {
    struct nm_arena_piece *next;
    size_t size, used;
    _Alignas(ALIGNMENT) uint8_t data[];
};

static void *allocate(void *userdata, size_t size)
{
    return nm_arena_alloc(userdata, size);
}

static void release(void *userdata, void *pointer)
{
    (void)userdata, (void)pointer; /* all memory is released with the arena */
}

void nm_arena_init(struct nm_arena *a, size_t limit, struct nm_quota_account *account)
{
    *a = (struct nm_arena){
        .allocator = {.alloc = allocate, .free = release, .allocator_data = a},
        .account = account,
        .left = limit,
    };
}

void nm_arena_done(struct nm_arena *a)
{
    struct nm_arena_piece *p;

    while ((p = a->pieces)) {
        a->pieces = p->next;
        free(p);
    }
    if (a->charged > 0)
        nm_quota_account_give(a->account, a->charged);
    *a = (struct nm_arena){};
}

static struct nm_arena_piece *add_piece(struct nm_arena *a, size_t size)
{
    size_t whole = sizeof(struct nm_arena_piece) + size;
    struct nm_arena_piece *p;

    if (whole > a->left || (a->account && !nm_quota_account_take(a->account, whole)))
        return NULL;
    p = malloc(whole);
    if (!p) {
        a->no_memory = true;
        if (a->account)
            nm_quota_account_give(a->account, whole);
        return NULL;
    }
    a->left -= whole;
    if (a->account)
        a->charged += whole;
    *p = (struct nm_arena_piece){.next = a->pieces, .size = size};
    a->pieces = p;
    return p;
}

void *nm_arena_alloc(struct nm_arena *a, size_t size)
{
    struct nm_arena_piece *p = a->pieces;
    void *start;

    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (!p || p->size - p->used < size)
        p = add_piece(a, NM_MAX(size, NM_MIN((size_t)PIECE, a->left / 2)));
    if (!p)
        return NULL;
    start = p->data + p->used;
    p->used += size;
    return start;
}

/* Returns whether `size` bytes can be allocated in small pieces. An account may hold at most as many bytes as are still
 * free (util/quota.h), and each piece reduces the free bytes. So pieces get half of what one allocation would get, and
 * the function tests for twice the size. */
bool nm_arena_has_room(const struct nm_arena *a, size_t size)
{
    if (size > a->left || size > SIZE_MAX / 2 || (a->account && !nm_quota_account_take(a->account, 2 * size)))
        return false;
    if (a->account)
        nm_quota_account_give(a->account, 2 * size);
    return true;
}

char *nm_arena_text(struct nm_arena *a, struct nm_bytes bytes)
{
    char *text = nm_arena_alloc(a, bytes.size + 1);

    if (!text)
        return NULL;
    if (bytes.size > 0)
        (void)memcpy(text, bytes.data, bytes.size);
    text[bytes.size] = '\0';
    return text;
}

char *nm_arena_print(struct nm_arena *arena, const char *format, ...)
{
    va_list ap;
    char *text = NULL;
    int n;

    va_start(ap, format);
    n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (n >= 0)
        text = nm_arena_alloc(arena, (size_t)n + 1);
    if (!text)
        return NULL;
    va_start(ap, format);
    (void)vsnprintf(text, (size_t)n + 1, format, ap);
    va_end(ap);
    return text;
}

char *nm_arena_base64(struct nm_arena *arena, struct nm_bytes bytes)
{
    const size_t n = BASE64_ENCODE_RAW_LENGTH(bytes.size);
    char *text = nm_arena_alloc(arena, n + 1);

    if (!text)
        return NULL;
    if (bytes.size > 0) /* protobuf-c represents empty data by NULL */
        base64_encode_raw(text, bytes.size, bytes.data);
    text[n] = '\0';
    return text;
}

size_t nm_arena_limit(size_t message_size)
{
    size_t limit;

    if (__builtin_mul_overflow(message_size, (size_t)NM_ARENA_FACTOR, &limit))
        return SIZE_MAX;
    return (size_t)nm_add_u64(limit, NM_ARENA_BASE);
}

ProtobufCMessage *nm_arena_unpack(struct nm_arena *a, const ProtobufCMessageDescriptor *type,
                                  struct nm_bytes message)
{
    ProtobufCMessage *m;
    size_t n_blanks;
    char path[1];

    assert(a->allocator.allocator_data == a);
    if (nm_fields_have_nul(type, message, path, sizeof path))
        return NULL;
    n_blanks = nm_fields_blank(type, message, NULL);
    if (n_blanks > 0) {
        uint8_t *copy = nm_arena_alloc(a, message.size);

        if (!copy)
            return NULL;
        memcpy(copy, message.data, message.size);
        (void)nm_fields_blank(type, message, copy);
        message.data = copy;
        nm_debug("%s: the diagnostics have %zu NULs, which are shown as blanks", type->short_name, n_blanks);
    }
    m = protobuf_c_message_unpack(type, &a->allocator, message.size, message.data);
    if (m)
        nm_fields_fill_empty(m);
    return m;
}

int nm_arena_error(const struct nm_arena *a)
{
    return a->no_memory ? -ENOMEM : -EBADMSG;
}
