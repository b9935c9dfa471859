/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory in which messages from the network are unpacked. protobuf-c may create a structure of a hundred bytes from two
 * received bytes. Each message therefore has a memory limit, and its memory is charged to an account. An arena releases
 * all of its memory at the same time, and no part earlier. Unknown fields also use memory of the arena, because
 * protobuf-c copies them.
 *
 * protobuf-c unpacks nested messages recursively without a depth limit, so no message type in nmd's .proto files may
 * contain itself.
 */

#include <protobuf-c/protobuf-c.h>

#include "rpc/hadoop/bytes.h"
#include "util/macros.h"
#include "util/quota.h"

/* Limit of the memory for a message: FACTOR times its size plus BASE. */
#define NM_ARENA_FACTOR 16
#define NM_ARENA_BASE (UINT64_C(16) << 10)

struct nm_arena {
    /* first member; the arena must not be copied, because the allocator's userdata points to the arena */
    ProtobufCAllocator allocator;
    struct nm_quota_account *account;   /* account to charge; NULL: no account is charged */
    struct nm_arena_piece *pieces;
    size_t left;    /* remaining bytes of the limit */
    size_t charged; /* bytes charged to the account */
    bool no_memory; /* an allocation within the limit failed with ENOMEM */
};

/* Initializes an arena. account: NULL, or a reference that outlives the arena. */
void nm_arena_init(struct nm_arena *a, size_t limit, struct nm_quota_account *account);
/* Releases all memory. Accepts a zeroed arena. The arena can be initialized again. */
void nm_arena_done(struct nm_arena *a);

/* Returns memory aligned for any type, or NULL if the limit is exceeded or memory ran out. */
void *nm_arena_alloc(struct nm_arena *a, size_t size);

/* Returns whether small allocations of this total size would succeed now. The result is valid until control returns to
 * the event loop. */
bool nm_arena_has_room(const struct nm_arena *a, size_t size);

/* Returns a NUL-terminated copy, or NULL if the limit is exceeded or memory ran out. */
char *nm_arena_text(struct nm_arena *a, struct nm_bytes bytes);

/* Formats a text. Returns NULL if the limit is exceeded or memory ran out. */
nm_printf(2, 3) char *nm_arena_print(struct nm_arena *arena, const char *format, ...);
/* Encodes the bytes in base64 without line breaks, as Java does. Returns NULL if the limit is exceeded or memory ran
 * out. */
char *nm_arena_base64(struct nm_arena *arena, struct nm_bytes bytes);

/* Returns the limit for a message of this size. */
size_t nm_arena_limit(size_t message_size);

/* Unpacks a message, which is valid until nm_arena_done(). Returns NULL if the message is invalid, is too large, or has
 * a NUL in a string field (fields.h). The data pointer of a bytes field is never NULL, even if the field is absent:
 * check the length. */
ProtobufCMessage *nm_arena_unpack(struct nm_arena *a, const ProtobufCMessageDescriptor *type,
                                  struct nm_bytes message);
/* Returns why nm_arena_unpack() returned NULL: -ENOMEM if the node had no memory, else -EBADMSG. After -ENOMEM the
 * message may be valid, so callers that discard invalid messages must distinguish the two errors. Must be called before
 * nm_arena_done(). */
int nm_arena_error(const struct nm_arena *a);
