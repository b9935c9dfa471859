/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes what a client sends before it is authenticated, and encrypted blocks. The first byte selects the parser. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "spark/engine.h"
#include "spark/sasl-cipher.h"
#include "spark/sasl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECRET "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void feed_sasl(struct nm_bytes response)
{
    const struct nm_spark_sasl sasl = {.nonce = "+SWXmHidEd3XGMg9pqJMe46okLZQOe9LnWQAxmi0"};
    struct nm_spark_sasl_result result;
    char rspauth[NM_SPARK_RSPAUTH_SIZE];

    if (nm_spark_sasl_verify(&sasl, response, nm_bytes_of(SECRET), &result, rspauth) == 0 &&
        strlen(rspauth) != NM_SPARK_RSPAUTH_SIZE - 1)
        abort();
}

static void feed_engine(struct nm_bytes message)
{
    struct nm_spark_engine_keys keys;
    struct nm_writer reply = {};
    int r = nm_spark_engine_answer(message, nm_bytes_of(SECRET), 1, &reply, &keys);

    if ((r == 0) != (reply.size > 0))
        abort();
    nm_writer_done(&reply);
}

static void feed_cipher(struct nm_bytes wire, enum nm_spark_sasl_cipher kind)
{
    const struct nm_spark_sasl_result result = {.cipher = kind};
    struct nm_spark_cipher *cipher;
    struct nm_writer plain = {};
    struct nm_bytes some;

    if (nm_spark_sasl_cipher_new(&result, &cipher) < 0)
        return;
    while (wire.size > 0) {
        some = nm_bytes_take(&wire, NM_MIN(wire.size, (size_t)7));
        if (nm_spark_cipher_open(cipher, some, &plain) < 0)
            break;
    }
    nm_spark_cipher_free(cipher);
    nm_writer_done(&plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_bytes rest = {data, size};

    if (size == 0)
        return 0;
    switch (*nm_bytes_take(&rest, 1).data) {
    case 's': feed_sasl(rest); break;
    case 'e': feed_engine(rest); break;
    case 'd': feed_cipher(rest, NM_SPARK_SASL_3DES); break;
    case 'r': feed_cipher(rest, NM_SPARK_SASL_RC4); break;
    default: break;
    }
    return 0;
}
