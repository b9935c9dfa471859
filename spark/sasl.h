/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The server's side of SASL DIGEST-MD5 (RFC 2831), as Spark uses it for shuffles (org.apache.spark.network.sasl):
 *
 *   client  an empty token
 *   server  realm="default",nonce="...",qop="auth-conf,auth",charset=utf-8,cipher="3des,rc4",algorithm=md5-sess
 *   client  charset=utf-8,username="...",realm="default",nonce="...",nc=00000001,cnonce="...",
 *           digest-uri="null/default",maxbuf=65536,response=...,qop=auth
 *   server  rspauth=...
 *
 * The user's name is the base64 of "sparkSaslUser", and the password the base64 of the application's secret, with a
 * line feed after each 76 characters if more follow (Netty's encoder). With qop=auth-conf, all later bytes of both
 * sides are encrypted (spark/sasl-cipher.h).
 */

#include <stdbool.h>

#include "rpc/hadoop/bytes.h"

#define NM_SPARK_NONCE_SIZE 41u     /* 40 characters of base64, and NUL */
#define NM_SPARK_CHALLENGE_SIZE 256u
#define NM_SPARK_RSPAUTH_SIZE 41u   /* "rspauth=", 32 digits, and NUL */
#define NM_SPARK_MD5_SIZE 16u

enum nm_spark_sasl_cipher { NM_SPARK_SASL_NONE, NM_SPARK_SASL_3DES, NM_SPARK_SASL_RC4 };

struct nm_spark_sasl {
    char nonce[NM_SPARK_NONCE_SIZE]; /* empty before the challenge */
    bool must_encrypt;               /* qop=auth is not offered */
};

/* The keys of an authenticated connection. */
struct nm_spark_sasl_result {
    enum nm_spark_sasl_cipher cipher;
    uint8_t session_key[NM_SPARK_MD5_SIZE]; /* H(A1) */
};

/* Makes the challenge. Returns 0, or -EIO if the kernel has no random bytes. */
int nm_spark_sasl_begin(struct nm_spark_sasl *s, bool must_encrypt, char ret[static NM_SPARK_CHALLENGE_SIZE]);
/* Checks the response to the challenge. Returns -EACCES if it was not made with the secret, or is invalid. The secret
 * may be empty: then nothing is accepted. */
int nm_spark_sasl_verify(const struct nm_spark_sasl *s, struct nm_bytes response, struct nm_bytes secret,
                         struct nm_spark_sasl_result *ret, char ret_rspauth[static NM_SPARK_RSPAUTH_SIZE]);
