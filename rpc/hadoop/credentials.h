/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Collection of tokens and secrets, as in container_tokens and in launch contexts (Credentials of Hadoop 3.4.2):
 *
 *   "HDTS" | byte 0 | vint n | n x (Text alias | token as in token.h) | vint m | m x (Text alias | bytes secret)
 *   "HDTS" | byte 1 | Credentials of security.proto, preceded by its length as a varint
 *
 * nmd reads both formats and writes the first.
 */

#include "rpc/hadoop/token.h"

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
