/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Authenticates the client of a connection with the secret of its application, in one of two ways: Spark's own
 * handshake (spark/engine.h), which always encrypts the connection, and SASL (spark/sasl.h), in messages
 *
 *   uint8 0xEA, text app, int32 size of the token, token
 *
 * whose replies are tokens. A client that the server refuses with Spark's handshake sends SASL next.
 */

#include "spark/applications.h"
#include "spark/cipher.h"
#include "spark/sasl.h"

struct nm_spark_auth_settings {
    bool is_required;        /* spark.authenticate */
    bool has_engine;         /* spark.network.crypto.enabled */
    bool allows_sasl;        /* spark.network.crypto.saslFallback; without has_engine, SASL is always allowed */
    bool must_encrypt;       /* spark.network.sasl.serverAlwaysEncrypt */
    unsigned engine_version; /* spark.network.crypto.authEngineVersion: 1 or 2 */
};

enum nm_spark_auth_state { NM_SPARK_AUTH_NEW, NM_SPARK_AUTH_SASL, NM_SPARK_AUTH_DONE, NM_SPARK_AUTH_FAILED };

struct nm_spark_auth {
    const struct nm_spark_auth_settings *settings;
    enum nm_spark_auth_state state;
    char app[NM_SPARK_ID_SIZE]; /* that the client has named */
    unsigned n_refused;         /* messages that were not of a permitted way */
    struct nm_spark_sasl sasl;
};

void nm_spark_auth_init(struct nm_spark_auth *auth, const struct nm_spark_auth_settings *settings);

static inline bool nm_spark_auth_is_done(const struct nm_spark_auth *auth)
{
    return !auth->settings->is_required || auth->state == NM_SPARK_AUTH_DONE;
}

/* Returns whether the message begins Spark's own handshake. */
bool nm_spark_auth_is_handshake(const struct nm_spark_auth *auth, struct nm_bytes message);
/* Handles a message of a client that is not yet authenticated, and appends the reply's message. When the state is
 * NM_SPARK_AUTH_DONE, *ret_cipher is for the bytes after the reply; NULL: they are not encrypted. Returns -EACCES if
 * the client must get a failure with *ret_why; the connection must be closed then if the state is
 * NM_SPARK_AUTH_FAILED. */
int nm_spark_auth_answer(struct nm_spark_auth *auth, struct nm_spark_applications *applications,
                         struct nm_bytes message, struct nm_writer *reply, struct nm_spark_cipher **ret_cipher,
                         const char **ret_why);
