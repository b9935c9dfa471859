/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A bag of tokens and secrets, as it stands in container_tokens and in launch contexts (Credentials of 3.4.2):
 *
 *   "HDTS" | byte 0 | vint n | n x (Text alias | token as in token.h) | vint m | m x (Text alias | bytes secret)
 *   "HDTS" | byte 1 | Credentials of security.proto behind its length as a varint
 *
 * Both are read; the first is written.
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

/* The lists are in the arena, what they point to there or in data. -EBADMSG: this isn't one; -ENOMEM: it is too large
 * for the arena. */
int nm_credentials_parse(struct nm_arena *a, struct nm_bytes data, struct nm_credentials *ret);
void nm_credentials_write(const struct nm_credentials *c, struct nm_writer *w);
