/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The server's side of Spark's own handshake (org.apache.spark.network.crypto.AuthEngine). Each side sends one message,
 *
 *   uint8 0xFB, text app, bytes salt (16), bytes sealed (initial vector 12, encrypted key 32, tag 16)
 *
 * with its X25519 key, encrypted with a key from the application's secret:
 *
 *   aad    = app, salt, and the client's whole message if it is the server's message
 *   key    = HKDF-SHA256(secret, salt, aad), 16 bytes
 *   sealed = AES-128-GCM(key, initial vector, aad, X25519 key)
 *
 * The keys of the connection come from the shared secret and from both messages (spark.network.crypto.authEngineVersion
 * and spark.network.crypto.cipher, which both sides must have in common):
 *
 *   version 1   the key is the shared secret, 32 bytes
 *   version 2   HKDF-SHA256(shared, both messages, "derivedKey"), 16 bytes
 *   server's initial vector   HKDF-SHA256(shared, both messages, "inputIv"), 16 bytes
 *   client's initial vector   HKDF-SHA256(shared, both messages, "outputIv"), 16 bytes
 */

#include <stdbool.h>

#include "rpc/hadoop/bytes.h"
#include "rpc/hadoop/writable.h"

struct nm_spark_engine_keys {
    uint8_t key[32];
    size_t key_size; /* 16 or 32 */
    uint8_t out_iv[16], in_iv[16];
};

/* Answers the client's message, which has its code, and appends the server's message. Returns -EACCES if the client's
 * message was not made with the secret, or is invalid; -EIO if the kernel has no random bytes. */
int nm_spark_engine_answer(struct nm_bytes message, struct nm_bytes secret, unsigned version, struct nm_writer *reply,
                           struct nm_spark_engine_keys *ret);

/* HKDF-SHA256, for the ciphers too. */
void nm_spark_hkdf(struct nm_bytes key, struct nm_bytes salt, struct nm_bytes info, uint8_t *ret, size_t size);
