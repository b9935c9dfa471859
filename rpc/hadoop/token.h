/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tokens. A token has an identifier with the rights of its bearer. Its password proves that the owner of the key issued
 * it (digest.h). A token as a Writable is
 *
 *   bytes identifier | bytes password | Text kind | Text service
 *
 * In messages it is Token of security.proto. An identifier is a plain protobuf message, whose type depends on the
 * token's kind. A collection of tokens and secrets, as in container_tokens and in launch contexts, is Credentials of
 * Hadoop 3.4.2:
 *
 *   "HDTS" | byte 0 | vint n | n x (Text alias | token as a Writable) | vint m | m x (Text alias | bytes secret)
 *   "HDTS" | byte 1 | Credentials of security.proto, preceded by its length as a varint
 *
 * nmd reads both formats and writes the first.
 */

#include "rpc/hadoop/arena.h"
#include "rpc/hadoop/security.pb-c.h"
#include "rpc/hadoop/writable.h"

#define NM_TOKEN_KIND_CONTAINER "ContainerToken"
#define NM_TOKEN_KIND_NM "NMToken"
#define NM_TOKEN_KIND_AMRM "YARN_AM_RM_TOKEN"

/* Maximum size in bytes of identifiers and passwords. Those of YARN are shorter. */
#define NM_TOKEN_PART_MAX 8192u

struct nm_token {
    struct nm_bytes identifier, password, kind, service;
};

/* Parses a token at the front of `from` and removes it from there. The parts of the token point into `from`. Returns
 * -EBADMSG if the token is invalid. */
int nm_token_read(struct nm_bytes *from, struct nm_token *ret);
void nm_token_write(const struct nm_token *t, struct nm_writer *w);

/* Copies a token into one block. nm_token_free() wipes the copy. */
int nm_token_copy(const struct nm_token *t, struct nm_token **ret);
struct nm_token *nm_token_free(struct nm_token *t);
NM_DEFINE_CLEANUP(struct nm_token *, nm_token_free)

/* Returns the token in a message. The parts of the token point into the message. */
struct nm_token nm_token_from_message(const Hadoop__Token *m);

/* Checks that the token has this kind and that its password matches its identifier and the key. Returns 0 or
 * -EKEYREJECTED. */
int nm_token_verify(const struct nm_token *t, const char *kind, const uint8_t *key, size_t key_size);

/* Parse an identifier. Return -EBADMSG if the identifier isn't of the expected kind or lacks a mandatory part: its ids
 * down to the application, its user or its node. Return -ENOMEM if memory ran out. The content can be trusted only
 * after nm_token_verify(). */
int nm_token_parse_container(struct nm_arena *a, struct nm_bytes identifier,
                             const Hadoop__ContainerTokenIdentifier **ret);
int nm_token_parse_nm(struct nm_arena *a, struct nm_bytes identifier, const Hadoop__NMTokenIdentifier **ret);
int nm_token_parse_amrm(struct nm_arena *a, struct nm_bytes identifier, const Hadoop__AMRMTokenIdentifier **ret);

/* Makes a token from an identifier: packs the identifier and signs it with the key. */
int nm_token_sign(const ProtobufCMessage *identifier, const char *kind, const char *service, const uint8_t *key,
                  size_t key_size, struct nm_token **ret);

/* ---- collections: credentials.c ----------------------------------------------------------- */

struct nm_credential {
    struct nm_bytes alias;
    struct nm_token token;
};

struct nm_secret {
    struct nm_bytes alias, value;
};

struct nm_credentials {
    struct nm_credential *tokens;
    size_t n_tokens;
    struct nm_secret *secrets;
    size_t n_secrets;
};

/* Parses credentials. The lists are in the arena; their pointers refer to the arena or to data. Returns -EBADMSG if
 * data is invalid, or -ENOMEM if the result doesn't fit into the arena. */
int nm_credentials_parse(struct nm_arena *a, struct nm_bytes data, struct nm_credentials *ret);
void nm_credentials_write(const struct nm_credentials *c, struct nm_writer *w);
