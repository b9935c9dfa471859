/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tokens: an identifier that says what its bearer may do, and a password that proves that somebody with the key said
 * so (digest.h). As a Writable a token is
 *
 *   bytes identifier | bytes password | Text kind | Text service
 *
 * and in messages it is Token of security.proto. What an identifier says is a protobuf message without anything
 * around it, one for each kind.
 */

#include "rpc/hadoop/arena.h"
#include "rpc/hadoop/security.pb-c.h"
#include "rpc/hadoop/writable.h"

#define NM_TOKEN_KIND_CONTAINER "ContainerToken"
#define NM_TOKEN_KIND_NM "NMToken"
#define NM_TOKEN_KIND_AMRM "YARN_AM_RM_TOKEN"

/* Longer identifiers and passwords are nobody's. */
#define NM_TOKEN_PART_MAX 8192u

struct nm_token {
    struct nm_bytes identifier, password, kind, service;
};

/* Takes a token from the front of from; its parts stay where they are. -EBADMSG: there is none. */
int nm_token_read(struct nm_bytes *from, struct nm_token *ret);
void nm_token_write(const struct nm_token *t, struct nm_writer *w);

/* A copy in one block, and its end, which wipes it. */
int nm_token_copy(const struct nm_token *t, struct nm_token **ret);
struct nm_token *nm_token_free(struct nm_token *t);
NM_DEFINE_CLEANUP(struct nm_token *, nm_token_free)

/* The parts of a message's token, where they are. */
struct nm_token nm_token_from_message(const Hadoop__Token *m);

/* Is it of this kind, and its password that of its identifier under the key? 0; -EKEYREJECTED. */
int nm_token_verify(const struct nm_token *t, const char *kind, const uint8_t *key, size_t key_size);

/* What an identifier says. -EBADMSG: it isn't one of that kind, or it lacks what makes it one: whom it speaks of (ids
 * down to the application), whose it is, and for which node. -ENOMEM: that isn't known. Whether it is true is known
 * only after it was verified. */
int nm_token_parse_container(struct nm_arena *a, struct nm_bytes identifier,
                             const Hadoop__ContainerTokenIdentifier **ret);
int nm_token_parse_nm(struct nm_arena *a, struct nm_bytes identifier, const Hadoop__NMTokenIdentifier **ret);
int nm_token_parse_amrm(struct nm_arena *a, struct nm_bytes identifier, const Hadoop__AMRMTokenIdentifier **ret);

/* Makes a token of an identifier: packed, and signed with the key. */
int nm_token_sign(const ProtobufCMessage *identifier, const char *kind, const char *service, const uint8_t *key,
                  size_t key_size, struct nm_token **ret);
