/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where foreign messages are unpacked. protobuf-c makes a structure of a hundred bytes out of two that came, so a
 * message is given a limit beforehand: what it may take, and whose account pays. All of it is given back at once, and
 * nothing of it before. protobuf-c copies unknown fields, too: they count.
 *
 * protobuf-c goes down into messages within messages without a limit, so no .proto of ours may contain itself.
 */

#include <protobuf-c/protobuf-c.h>

#include "rpc/hadoop/bytes.h"
#include "util/quota.h"

/* A message may take so many times its own size, and this much besides. */
#define NM_ARENA_FACTOR 16
#define NM_ARENA_BASE (UINT64_C(16) << 10)

struct nm_arena {
    ProtobufCAllocator allocator; /* first, and never copied: its userdata is this */
    struct nm_quota_account *account;   /* or NULL: nobody's */
    struct nm_arena_piece *pieces;
    size_t left;    /* of the limit */
    size_t charged; /* to the account */
    bool global_oom;   /* the node had no memory for a piece that was allowed */
};

/* account: NULL, or a reference that outlives the arena. */
void nm_arena_init(struct nm_arena *a, size_t limit, struct nm_quota_account *account);
/* Takes an arena of zeroes, too. It can be used again after another init. */
void nm_arena_done(struct nm_arena *a);

/* Aligned for anything; NULL: over the limit, or no memory. */
void *nm_arena_alloc(struct nm_arena *a, size_t size);

/* Would it give so much more now, in small pieces? Nobody else can take it before the loop goes on. */
bool nm_arena_has_room(const struct nm_arena *a, size_t size);

/* A copy with a NUL behind it, or NULL as above. */
char *nm_arena_text(struct nm_arena *a, struct nm_bytes bytes);

/* Limit for a message of so many bytes. */
size_t nm_arena_limit(size_t message_size);

/* The message, which lives as long as the arena, or NULL: not such a message, one that is too large, or one with a NUL
 * in a string (fields.h). No bytes field of it has NULL for data, not even an absent one: ask for its length. */
ProtobufCMessage *nm_arena_unpack(struct nm_arena *a, const ProtobufCMessageDescriptor *type,
                                  struct nm_bytes message);
/* Why that was NULL: -ENOMEM: the node has no memory, which says nothing of the message; else -EBADMSG. Whoever would
 * throw away what is no message has to know. Before nm_arena_done(). */
int nm_arena_error(const struct nm_arena *a);
