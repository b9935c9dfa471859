/* SPDX-License-Identifier: Apache-2.0 */

/* SASL DIGEST-MD5 and its encryption. The exchanges are those of Spark 3.5.6's SparkSaslClient and SparkSaslServer. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>

#include <cmocka.h>

#include "spark-bytes.h"
#include "spark/primitive.h"
#include "spark/sasl-cipher.h"

#define SECRET "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* An exchange, and what client and server have encrypted afterwards: "hello" and "Spark's client!!", the server in
 * capital letters. */
static const struct {
    enum nm_spark_sasl_cipher cipher;
    const char *nonce, *response, *rspauth;
    const char *from_client[2], *from_server[2];
} exchanges[] = {
    {NM_SPARK_SASL_NONE,
     "+SWXmHidEd3XGMg9pqJMe46okLZQOe9LnWQAxmi0",
     "charset=utf-8,username=\"c3BhcmtTYXNsVXNlcg==\",realm=\"default\",nonce=\"+SWXmHidEd3XGMg9pq"
     "JMe46okLZQOe9LnWQAxmi0\",nc=00000001,cnonce=\"iYPpIQxk3mCgS09TnL6kSgCKJIeX+LJ/URiWJojx\",dig"
     "est-uri=\"null/default\",maxbuf=65536,response=58f9fae39be88aa38fc36f80f462c276,qop=auth",
     "rspauth=bc6a95290652d6d4dcf44d44bf9d5495",
     {NULL},
     {NULL}},
    {NM_SPARK_SASL_3DES,
     "qVG3bT51xVXWBGQaBGbsrmsBGTOECIsDrKosvmpU",
     "charset=utf-8,username=\"c3BhcmtTYXNsVXNlcg==\",realm=\"default\",nonce=\"qVG3bT51xVXWBGQaBG"
     "bsrmsBGTOECIsDrKosvmpU\",nc=00000001,cnonce=\"aypWb9666hQ2yTW6EPqGvST3hPgh2hxU8IX42hHU\",dig"
     "est-uri=\"null/default\",maxbuf=65536,response=28f34d1e8215e14a7eeeca9b5ed390bd,qop=auth-con"
     "f,cipher=\"3des\"",
     "rspauth=c710f877af84f05235ed1f91a503e0ce",
     {"f53a0049f065af47b412626e22b862da000100000000",
      "a4cfc642a06ef77ea218565d6a976230cab020e0345ad70be11a46ebf32cc0a5000100000001"},
     {"e0b5259f79576bdc2fc9202974ece9fa000100000000",
      "264c2a65d29b34a1ec3d85c2714917c55d5557bf2adf4b37a80c3d78e6c79e54000100000001"}},
    {NM_SPARK_SASL_RC4,
     "sw4Uq7NYK10/7owqwXAIMimiLMWAZ+iqxtdxHZUf",
     "charset=utf-8,username=\"c3BhcmtTYXNsVXNlcg==\",realm=\"default\",nonce=\"sw4Uq7NYK10/7owqwX"
     "AIMimiLMWAZ+iqxtdxHZUf\",nc=00000001,cnonce=\"dLXBxRcQP1f3yqo8JdaOeizYVM+qPKmmOovw1/ZI\",dig"
     "est-uri=\"null/default\",maxbuf=65536,response=ec759b41d24ceff04f8b5567be0d0760,qop=auth-con"
     "f,cipher=\"rc4\"",
     "rspauth=24a0fe4a0f75a5e6762418c6b1f79d0d",
     {"55ea7026a3a50908972dfa6c5c440b000100000000",
      "7e8701bf65ff1d7b2bcc1c1fd9f1af539c4d1dd7abee8c5f673c000100000001"},
     {"e95f0fb86d111301b46341c0a5b91c000100000000",
      "ff224fee8df0cd13276d99c57eec98488c0c51c685303cb1e2b3000100000001"}},
};

static struct nm_spark_sasl sasl;
static struct nm_spark_sasl_result result;
static char rspauth[NM_SPARK_RSPAUTH_SIZE];

static int verify(const char *response, const char *secret)
{
    return nm_spark_sasl_verify(&sasl, nm_bytes_of(response), nm_bytes_of(secret), &result, rspauth);
}

static void set_nonce(const char *nonce)
{
    sasl = (struct nm_spark_sasl){};
    snprintf(sasl.nonce, sizeof sasl.nonce, "%s", nonce);
}

static void test_the_challenge_has_a_new_nonce(void **state)
{
    char challenge[NM_SPARK_CHALLENGE_SIZE], expected[NM_SPARK_CHALLENGE_SIZE], nonce[NM_SPARK_NONCE_SIZE];

    (void)state;
    assert_int_equal(nm_spark_sasl_begin(&sasl, false, challenge), 0);
    assert_int_equal(strlen(sasl.nonce), 40);
    snprintf(expected, sizeof expected,
             "realm=\"default\",nonce=\"%s\",qop=\"auth-conf,auth\",charset=utf-8,cipher=\"3des,rc4\","
             "algorithm=md5-sess", sasl.nonce);
    assert_string_equal(challenge, expected);
    memcpy(nonce, sasl.nonce, sizeof nonce);
    assert_int_equal(nm_spark_sasl_begin(&sasl, true, challenge), 0);
    assert_string_not_equal(sasl.nonce, nonce);
    assert_non_null(strstr(challenge, "qop=\"auth-conf\","));
}

static void test_exchanges_of_spark_are_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(exchanges); i++) {
        set_nonce(exchanges[i].nonce);
        assert_int_equal(verify(exchanges[i].response, SECRET), 0);
        assert_int_equal(result.cipher, exchanges[i].cipher);
        assert_string_equal(rspauth, exchanges[i].rspauth);
        assert_int_equal(verify(exchanges[i].response, SECRET "0"), -EACCES);
        assert_int_equal(verify(exchanges[i].response, "another"), -EACCES);
        assert_int_equal(verify(exchanges[i].response, ""), -EACCES);
        sasl.must_encrypt = true;
        assert_int_equal(verify(exchanges[i].response, SECRET),
                         exchanges[i].cipher == NM_SPARK_SASL_NONE ? -EACCES : 0);
        sasl.nonce[0] ^= 1;
        assert_int_equal(verify(exchanges[i].response, SECRET), -EACCES);
        sasl.nonce[0] = '\0';
        assert_int_equal(verify(exchanges[i].response, SECRET), -EACCES);
    }
}

/* Each byte of a response is necessary, except in maxbuf, charset and what follows the quotes of a value. */
static void test_a_shorter_response_is_refused(void **state)
{
    struct nm_bytes response = nm_bytes_of(exchanges[0].response);

    (void)state;
    set_nonce(exchanges[0].nonce);
    response.size -= strlen(",qop=auth"); /* auth is the default */
    assert_int_equal(nm_spark_sasl_verify(&sasl, response, nm_bytes_of(SECRET), &result, rspauth), 0);
    while (response.size-- > 0)
        assert_int_equal(nm_spark_sasl_verify(&sasl, response, nm_bytes_of(SECRET), &result, rspauth), -EACCES);
}

static void test_invalid_responses_are_refused(void **state)
{
    static const char *const more[] = {",", ",x", ",x=\"", ",x=\"\\\"\"", ",x=\\", ",nc=00000001", "\"", ",x=\"a\"b"};
    char response[512];

    (void)state;
    set_nonce(exchanges[0].nonce);
    for (size_t i = 0; i < NM_ARRAY_SIZE(more); i++) {
        snprintf(response, sizeof response, "%s%s", exchanges[0].response, more[i]);
        if (verify(response, SECRET) != -EACCES && strcmp(more[i], ",") != 0)
            fail_msg("%s should be refused", more[i]);
    }
    snprintf(response, sizeof response, "%s,x=y", exchanges[0].response);
    assert_int_equal(verify(response, SECRET), 0);
}

/* ---- encryption ----------------------------------------------------------------------------- */

static struct nm_spark_cipher *begin(size_t exchange)
{
    struct nm_spark_cipher *cipher;

    set_nonce(exchanges[exchange].nonce);
    assert_int_equal(verify(exchanges[exchange].response, SECRET), 0);
    assert_int_equal(nm_spark_sasl_cipher_new(&result, &cipher), 0);
    return cipher;
}

/* Appends a block as it is on the wire. */
static void put_block(struct nm_writer *w, const char *hex)
{
    uint8_t buffer[128];
    const struct nm_bytes block = spark_bytes(hex, buffer, sizeof buffer);

    nm_spark_put_i64(w, (int64_t)(8 + block.size));
    nm_writer_put(w, block);
}

static void test_blocks_of_spark_are_decrypted(void **state)
{
    (void)state;
    for (size_t i = 1; i < NM_ARRAY_SIZE(exchanges); i++)
        for (size_t piece = 1; piece < 100; piece += 7) {
            struct nm_spark_cipher *cipher = begin(i);
            struct nm_writer wire = {}, plain = {};
            struct nm_bytes rest;

            put_block(&wire, exchanges[i].from_client[0]);
            put_block(&wire, exchanges[i].from_client[1]);
            rest = (struct nm_bytes){wire.data, wire.size};
            while (rest.size > 0)
                assert_int_equal(nm_spark_cipher_open(cipher, nm_bytes_take(&rest, NM_MIN(rest.size, piece)), &plain),
                                 0);
            assert_int_equal(nm_spark_cipher_memory(cipher), 0);
            assert_int_equal(plain.size, 21);
            assert_memory_equal(plain.data, "helloSpark's client!!", 21);
            nm_writer_done(&wire);
            nm_writer_done(&plain);
            nm_spark_cipher_free(cipher);
        }
}

static void test_blocks_are_encrypted_as_spark_does(void **state)
{
    (void)state;
    for (size_t i = 1; i < NM_ARRAY_SIZE(exchanges); i++) {
        struct nm_spark_cipher *cipher = begin(i);
        struct nm_writer wire = {}, expected = {};

        put_block(&expected, exchanges[i].from_server[0]);
        put_block(&expected, exchanges[i].from_server[1]);
        assert_int_equal(nm_spark_cipher_seal(cipher, nm_bytes_of("HELLO"), &wire), 0);
        assert_int_equal(nm_spark_cipher_seal(cipher, nm_bytes_of("SPARK'S CLIENT!!"), &wire), 0);
        assert_int_equal(wire.size, expected.size);
        assert_memory_equal(wire.data, expected.data, expected.size);
        nm_writer_done(&wire);
        nm_writer_done(&expected);
        nm_spark_cipher_free(cipher);
    }
}

/* A block that is not complete takes memory. */
static void test_the_memory_of_a_block_is_known(void **state)
{
    struct nm_spark_cipher *cipher = begin(1);
    struct nm_writer wire = {}, plain = {};

    (void)state;
    put_block(&wire, exchanges[1].from_client[0]);
    assert_int_equal(nm_spark_cipher_memory(cipher), 0);
    assert_int_equal(nm_spark_cipher_open(cipher, (struct nm_bytes){wire.data, wire.size - 1}, &plain), 0);
    assert_true(nm_spark_cipher_memory(cipher) >= wire.size - 1);
    nm_writer_done(&wire);
    nm_writer_done(&plain);
    nm_spark_cipher_free(cipher);
}

/* Changes each byte of a block in turn. Only the upper byte of the version is not checked. */
static void test_changed_blocks_are_refused(void **state)
{
    static const uint8_t more[1024];

    (void)state;
    for (size_t i = 1; i < NM_ARRAY_SIZE(exchanges); i++)
        for (size_t at = 0; at < 8 + strlen(exchanges[i].from_client[0]) / 2; at++) {
            struct nm_spark_cipher *cipher = begin(i);
            struct nm_writer wire = {}, plain = {};

            put_block(&wire, exchanges[i].from_client[0]);
            nm_writer_put(&wire, (struct nm_bytes){more, sizeof more}); /* for a block whose size is made larger */
            wire.data[at] ^= 2;
            if (nm_spark_cipher_open(cipher, (struct nm_bytes){wire.data, wire.size}, &plain) != -EBADMSG &&
                at != 8 + strlen(exchanges[i].from_client[0]) / 2 - 6)
                fail_msg("a change of byte %zu should be detected", at);
            nm_writer_done(&wire);
            nm_writer_done(&plain);
            nm_spark_cipher_free(cipher);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_challenge_has_a_new_nonce),
        cmocka_unit_test(test_exchanges_of_spark_are_accepted),
        cmocka_unit_test(test_a_shorter_response_is_refused),
        cmocka_unit_test(test_invalid_responses_are_refused),
        cmocka_unit_test(test_blocks_of_spark_are_decrypted),
        cmocka_unit_test(test_blocks_are_encrypted_as_spark_does),
        cmocka_unit_test(test_the_memory_of_a_block_is_known),
        cmocka_unit_test(test_changed_blocks_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
