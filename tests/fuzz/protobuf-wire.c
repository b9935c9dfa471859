/* SPDX-License-Identifier: Apache-2.0 */

/* See protobuf-wire.h. */

#include "protobuf-wire.h"

#define DEPTH_MAX 12
#define FIELDS_MAX 64u

/* ---- reading ------------------------------------------------------------------------------ */

bool wire_varint(struct nm_bytes *from, uint64_t *ret)
{
    uint64_t value = 0;

    for (size_t i = 0; i < from->size && i < 10; i++) {
        value |= (uint64_t)(from->data[i] & 0x7f) << (7 * i);
        if (from->data[i] < 0x80) {
            (void)nm_bytes_take(from, i + 1);
            *ret = value;
            return true;
        }
    }
    return false;
}

static bool next_content(struct nm_bytes *rest, struct wire_field *f)
{
    uint64_t size;

    if (f->type == WIRE_VARINT)
        return wire_varint(rest, &f->varint);
    if (f->type == WIRE_BYTES) {
        if (!wire_varint(rest, &size))
            return false;
    } else if (f->type == WIRE_64BIT || f->type == WIRE_32BIT) {
        size = f->type == WIRE_64BIT ? 8 : 4;
    } else {
        return false;
    }
    if (size > rest->size)
        return false;
    f->bytes = nm_bytes_take(rest, size);
    return true;
}

bool wire_next(struct nm_bytes *from, struct wire_field *ret)
{
    struct nm_bytes rest = *from;
    struct wire_field f = {};
    uint64_t tag;

    if (from->size == 0 || !wire_varint(&rest, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return false;
    f.number = (uint32_t)(tag >> 3);
    f.type = (enum wire_type)(tag & 7);
    if (!next_content(&rest, &f))
        return false;
    f.whole = nm_bytes_take(from, from->size - rest.size);
    *ret = f;
    return true;
}

uint64_t wire_get_varint(struct nm_bytes message, uint32_t number, uint64_t otherwise)
{
    struct wire_field f;

    while (wire_next(&message, &f))
        if (f.number == number && f.type == WIRE_VARINT)
            otherwise = f.varint;
    return otherwise;
}

bool wire_get_bytes(struct nm_bytes message, uint32_t number, size_t n, struct nm_bytes *ret)
{
    struct wire_field f;

    while (wire_next(&message, &f))
        if (f.number == number && f.type == WIRE_BYTES && n-- == 0) {
            *ret = f.bytes;
            return true;
        }
    return false;
}

/* ---- writing ------------------------------------------------------------------------------ */

void wire_put(struct wire_out *o, struct nm_bytes bytes)
{
    if (bytes.size == 0 || (o->max > 0 && bytes.size > o->max - o->size))
        return;
    if (bytes.size > o->room - o->size) {
        o->room = 2 * (o->size + bytes.size);
        o->data = realloc(o->data, o->room);
        if (!o->data)
            abort();
    }
    (void)memcpy(o->data + o->size, bytes.data, bytes.size);
    o->size += bytes.size;
}

void wire_put_varint(struct wire_out *o, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;

    do
        bytes[n++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    while ((value >>= 7) > 0);
    wire_put(o, (struct nm_bytes){bytes, n});
}

void wire_put_counted(struct wire_out *o, struct nm_bytes bytes)
{
    wire_put_varint(o, bytes.size);
    wire_put(o, bytes);
}

/* ---- mutations ---------------------------------------------------------------------------- */

/* Set from libFuzzer's seed. The same seed therefore changes the same input in the same way. */
static uint64_t random_state;

static uint32_t any(uint32_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % below;
}

/* Splits a message into its fields. Returns 0 unless the whole message is valid. */
static size_t split(struct nm_bytes message, struct wire_field *fields)
{
    size_t n = 0;

    while (n < FIELDS_MAX && wire_next(&message, &fields[n]))
        n++;
    return message.size == 0 ? n : 0;
}

static uint64_t random_number(void)
{
    static const uint64_t edges[] = {0, 1, 2, 3, 127, 128, INT32_MAX, UINT64_C(1) << 31, UINT32_MAX,
                                     UINT64_C(1) << 32, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 32, UINT64_MAX};

    return any(4) == 0 ? any(1000) : edges[any(NM_ARRAY_SIZE(edges))];
}

static void put_field(struct wire_out *o, uint32_t number, struct nm_bytes content)
{
    wire_put_tag(o, number, WIRE_BYTES);
    wire_put_counted(o, content);
}

/* Writes the field with changed content. libFuzzer's mutator changes the content, if it is linked. */
static void put_changed_bytes(struct wire_out *o, const struct wire_field *f)
{
    size_t room = f->bytes.size + 64, size = f->bytes.size;
    _cleanup_free_ uint8_t *content = calloc(1, room);

    if (!content)
        abort();
    if (size > 0)
        (void)memcpy(content, f->bytes.data, size);
    if (LLVMFuzzerMutate && any(2) == 0)
        size = LLVMFuzzerMutate(content, size, room);
    else if (size > 0 && any(2) == 0)
        content[any((uint32_t)size)] = '\0';
    else
        content[size++] = '\0';
    put_field(o, f->number, (struct nm_bytes){content, size});
}

static void put_changed_value(struct wire_out *o, const struct wire_field *f)
{
    if (f->type == WIRE_VARINT) {
        wire_put_tag(o, f->number, WIRE_VARINT);
        wire_put_varint(o, any(3) == 0 ? f->varint + any(3) - 1 : random_number());
    } else {
        put_changed_bytes(o, f);
    }
}

/* Writes a field of the same number with an unexpected type. */
static void put_other_type(struct wire_out *o, const struct wire_field *f)
{
    static const uint8_t eight[8] = {1};

    if (f->type != WIRE_VARINT && any(2) == 0) {
        wire_put_tag(o, f->number, WIRE_VARINT);
        wire_put_varint(o, random_number());
    } else if (f->type != WIRE_BYTES && any(2) == 0) {
        put_field(o, f->number, (struct nm_bytes){eight, any(9)});
    } else if (any(2) == 0) {
        wire_put_tag(o, f->number, WIRE_64BIT);
        wire_put(o, (struct nm_bytes){eight, 8});
    } else {
        wire_put_tag(o, f->number, WIRE_32BIT);
        wire_put(o, (struct nm_bytes){eight, 4});
    }
}

/* Writes nested messages that all have the same field number. */
static void put_nested(struct wire_out *o, const struct wire_field *f)
{
    struct wire_out inner = {.max = o->max};

    wire_put(&inner, f->type == WIRE_BYTES ? f->bytes : f->whole);
    for (uint32_t n = 1 + any(any(4) == 0 ? 200 : 8); n > 0; n--) {
        struct wire_out outer = {.max = o->max};

        put_field(&outer, f->number, wire_bytes(&inner));
        wire_out_done(&inner);
        inner = outer;
    }
    wire_put(o, wire_bytes(&inner));
    wire_out_done(&inner);
}

static void put_times(struct wire_out *o, struct nm_bytes whole, uint32_t n)
{
    while (n-- > 0)
        wire_put(o, whole);
}

/* Writes a wrong length, or a number in more bytes than necessary. */
static void put_broken(struct wire_out *o, const struct wire_field *f)
{
    static const uint8_t long_zero[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00};

    wire_put_tag(o, f->number, f->type);
    if (f->type == WIRE_BYTES) {
        wire_put_varint(o, any(2) == 0 ? random_number() : f->bytes.size + 1);
        wire_put(o, f->bytes);
    } else {
        wire_put(o, (struct nm_bytes){long_zero, any(sizeof long_zero) + 1});
    }
}

static void put_new(struct wire_out *o, const struct wire_field *f)
{
    wire_put(o, f->whole);
    if (any(2) == 0) {
        wire_put_tag(o, 1 + any(20), WIRE_VARINT);
        wire_put_varint(o, random_number());
    } else {
        put_field(o, 1 + any(20), any(2) == 0 ? f->whole : (struct nm_bytes){});
    }
}

static void put_renumbered(struct wire_out *o, const struct wire_field *f)
{
    struct nm_bytes content = f->whole;
    uint64_t tag;

    (void)wire_varint(&content, &tag);
    wire_put_tag(o, 1 + any(20), f->type);
    wire_put(o, content);
}

static void put_mutated(struct wire_out *o, const struct wire_field *f)
{
    switch (any(11)) {
    case 0: /* the field is dropped */
        return;
    case 1:
        put_times(o, f->whole, 2);
        return;
    case 2:
        put_times(o, f->whole, 2 + any(any(8) == 0 ? 2000 : 30));
        return;
    case 3:
        put_field(o, f->number, (struct nm_bytes){});
        return;
    case 4:
        put_other_type(o, f);
        return;
    case 5:
        put_nested(o, f);
        return;
    case 6:
        put_broken(o, f);
        return;
    case 7:
        put_new(o, f);
        return;
    case 8:
        put_renumbered(o, f);
        return;
    default:
        put_changed_value(o, f);
    }
}

static void mutate(struct wire_out *o, struct nm_bytes message, unsigned depth);

/* Mutates the content of a field if it may be a message. */
static void mutate_field(struct wire_out *o, const struct wire_field *f, unsigned depth)
{
    struct wire_out content = {.max = o->max};
    struct wire_field fields[FIELDS_MAX];

    if (f->type != WIRE_BYTES || depth == DEPTH_MAX || any(5) == 0 || split(f->bytes, fields) == 0) {
        put_mutated(o, f);
        return;
    }
    mutate(&content, f->bytes, depth + 1);
    put_field(o, f->number, wire_bytes(&content));
    wire_out_done(&content);
}

static void mutate(struct wire_out *o, struct nm_bytes message, unsigned depth)
{
    struct wire_field fields[FIELDS_MAX];
    uint32_t n = (uint32_t)split(message, fields), chosen, other;

    if (n == 0) {
        wire_put(o, message);
        return;
    }
    chosen = any(n);
    other = any(8) == 0 ? any(n) : chosen; /* two fields may be swapped */
    for (uint32_t i = 0; i < n; i++)
        if (other != chosen && (i == chosen || i == other))
            wire_put(o, fields[i == chosen ? other : chosen].whole);
        else if (i == chosen)
            mutate_field(o, &fields[i], depth);
        else
            wire_put(o, fields[i].whole);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct wire_out o = {.max = max_size};
    struct wire_field fields[FIELDS_MAX];

    random_state = seed;
    if (LLVMFuzzerMutate && (split((struct nm_bytes){data, size}, fields) == 0 || any(50) == 0))
        return LLVMFuzzerMutate(data, size, max_size);
    mutate(&o, (struct nm_bytes){data, size}, 0);
    if (o.size > 0)
        (void)memcpy(data, o.data, o.size);
    size = o.size;
    wire_out_done(&o);
    return size;
}
