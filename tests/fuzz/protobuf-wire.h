/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Inputs that are protobuf messages. The code does not know their .proto, and reads and writes single fields. A mutator
 * in this file replaces libFuzzer's mutator. It drops, doubles, empties, swaps and nests fields, and changes their
 * types and numbers, at any depth. A field is treated as a message if its content can be parsed as a message.
 */

#include "rpc/hadoop/bytes.h"
#include "util/macros.h"

enum wire_type { WIRE_VARINT = 0, WIRE_64BIT = 1, WIRE_BYTES = 2, WIRE_32BIT = 5 };

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t varint;       /* value of a WIRE_VARINT */
    struct nm_bytes bytes; /* content of other types */
    struct nm_bytes whole; /* the whole field with its tag */
};

/* Takes a field from the front of a message. False: no complete field is left. */
bool wire_next(struct nm_bytes *from, struct wire_field *ret);
bool wire_varint(struct nm_bytes *from, uint64_t *ret);

/* wire_get_varint() returns the last varint field of this number, or `otherwise`. wire_get_bytes() returns the nth
 * bytes field, or false. */
uint64_t wire_get_varint(struct nm_bytes message, uint32_t number, uint64_t otherwise);
bool wire_get_bytes(struct nm_bytes message, uint32_t number, size_t n, struct nm_bytes *ret);

/* A message that is being written. Data beyond max bytes is dropped. If all members are zero, the message is empty and
 * has no limit. */
struct wire_out {
    uint8_t *data;
    size_t size, room, max;
};

void wire_put(struct wire_out *o, struct nm_bytes bytes);
void wire_put_varint(struct wire_out *o, uint64_t value);
/* Writes the length of the bytes and the bytes. After a tag the result is a field. */
void wire_put_counted(struct wire_out *o, struct nm_bytes bytes);
static inline void wire_put_tag(struct wire_out *o, uint32_t number, enum wire_type type)
{
    wire_put_varint(o, (uint64_t)number << 3 | type);
}
static inline struct nm_bytes wire_bytes(const struct wire_out *o)
{
    return (struct nm_bytes){o->data, o->size};
}
static inline void wire_out_done(struct wire_out *o)
{
    free(o->data);
    *o = (struct wire_out){};
}

/* Called by libFuzzer to change an input. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
/* libFuzzer's mutator, which changes bytes. This function is not linked when a program only replays its corpus. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
