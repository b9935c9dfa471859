/* SPDX-License-Identifier: Apache-2.0 */

/* Authentication of clients: Spark's own handshake with a client that is written after the specification of AuthEngine,
 * and the states of a connection. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>

#include <cmocka.h>
#include <nettle/curve25519.h>
#include <nettle/gcm.h>

#include "spark-fixture.h"
#include "spark/auth.h"
#include "spark/ctr-cipher.h"
#include "spark/engine.h"
#include "util/macros.h"

#define SECRET "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct spark_fixture fixture;
static struct nm_spark_applications *applications;
static struct nm_spark_auth_settings settings;
static struct nm_spark_auth auth;
static struct nm_spark_cipher *cipher;
static struct nm_writer message, reply;
static const char *why;

static int set_up(void **state)
{
    (void)state;
    spark_fixture_new(&fixture);
    assert_int_equal(nm_spark_applications_new(&fixture.locals, -EBADF, &applications), 0);
    assert_int_equal(nm_spark_applications_add(applications, &fixture.application, nm_bytes_of(SECRET), true), 0);
    settings = (struct nm_spark_auth_settings){
        .is_required = true, .has_engine = true, .allows_sasl = true, .engine_version = 1};
    nm_spark_auth_init(&auth, &settings);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cipher = nm_spark_cipher_free(cipher);
    applications = nm_spark_applications_free(applications);
    nm_writer_done(&message);
    nm_writer_done(&reply);
    spark_fixture_done(&fixture);
    return 0;
}

/* Sends the message in `message`, which stays there. */
static int send_message(void)
{
    nm_writer_done(&reply);
    why = NULL;
    return nm_spark_auth_answer(&auth, applications, (struct nm_bytes){message.data, message.size}, &reply, &cipher,
                                &why);
}

/* ---- a client of Spark's handshake ---------------------------------------------------------- */

static const uint8_t client_key[CURVE25519_SIZE] = "the client's own key is secret!";

/* Derives the key that encrypts a message's key, and sets the context. */
static void set_gcm(struct gcm_aes128_ctx *gcm, const char *secret, struct nm_bytes app, struct nm_bytes salt,
                    struct nm_bytes transcript, const uint8_t *iv)
{
    struct nm_writer aad = {};
    uint8_t key[16];

    nm_writer_put(&aad, app);
    nm_writer_put(&aad, salt);
    nm_writer_put(&aad, transcript);
    nm_spark_hkdf(nm_bytes_of(secret), salt, (struct nm_bytes){aad.data, aad.size}, key, sizeof key);
    gcm_aes128_set_key(gcm, key);
    gcm_aes128_set_iv(gcm, GCM_IV_SIZE, iv);
    gcm_aes128_update(gcm, aad.size, aad.data);
    nm_writer_done(&aad);
}

/* Makes the client's message in `message`. */
static void greet(const char *app, const char *secret, const uint8_t *public_key)
{
    static const uint8_t salt[16] = "sixteen letters", iv[GCM_IV_SIZE] = "twelve here";
    uint8_t sealed[GCM_IV_SIZE + CURVE25519_SIZE + GCM_DIGEST_SIZE];
    struct gcm_aes128_ctx gcm;

    memcpy(sealed, iv, sizeof iv);
    set_gcm(&gcm, secret, nm_bytes_of(app), (struct nm_bytes){salt, sizeof salt}, (struct nm_bytes){}, iv);
    gcm_aes128_encrypt(&gcm, CURVE25519_SIZE, sealed + GCM_IV_SIZE, public_key);
    gcm_aes128_digest(&gcm, GCM_DIGEST_SIZE, sealed + GCM_IV_SIZE + CURVE25519_SIZE);
    nm_writer_done(&message);
    nm_spark_put_u8(&message, 0xfb);
    nm_spark_put_text(&message, nm_bytes_of(app));
    nm_spark_put_text(&message, (struct nm_bytes){salt, sizeof salt});
    nm_spark_put_text(&message, (struct nm_bytes){sealed, sizeof sealed});
}

static void greet_with_own_key(const char *app, const char *secret)
{
    uint8_t public_key[CURVE25519_SIZE];

    curve25519_mul_g(public_key, client_key);
    greet(app, secret, public_key);
}

/* Derives the client's keys from the server's message. What the server writes, the client reads. */
static struct nm_spark_cipher *client_cipher(unsigned version)
{
    struct nm_bytes rest = {reply.data, reply.size}, app, salt, sealed;
    uint8_t code, server_key[CURVE25519_SIZE], shared[CURVE25519_SIZE], tag[GCM_DIGEST_SIZE];
    struct nm_spark_engine_keys keys = {.key_size = version == 1 ? 32 : 16};
    const struct nm_bytes secret = {shared, sizeof shared};
    struct nm_spark_cipher *client;
    struct gcm_aes128_ctx gcm;
    struct nm_writer both = {};
    struct nm_bytes transcript;

    assert_int_equal(nm_spark_take_u8(&rest, &code), 0);
    assert_int_equal(code, 0xfb);
    assert_int_equal(nm_spark_take_text(&rest, &app), 0);
    assert_int_equal(nm_spark_take_text(&rest, &salt), 0);
    assert_int_equal(nm_spark_take_text(&rest, &sealed), 0);
    assert_int_equal(rest.size, 0);
    assert_int_equal(salt.size, 16);
    assert_int_equal(sealed.size, 60);
    set_gcm(&gcm, SECRET, app, salt, (struct nm_bytes){message.data, message.size}, sealed.data);
    gcm_aes128_decrypt(&gcm, CURVE25519_SIZE, server_key, sealed.data + GCM_IV_SIZE);
    gcm_aes128_digest(&gcm, sizeof tag, tag);
    assert_memory_equal(tag, sealed.data + GCM_IV_SIZE + CURVE25519_SIZE, sizeof tag);
    curve25519_mul(shared, client_key, server_key);
    nm_writer_put(&both, (struct nm_bytes){message.data, message.size});
    nm_writer_put(&both, (struct nm_bytes){reply.data, reply.size});
    transcript = (struct nm_bytes){both.data, both.size};
    if (version == 1)
        memcpy(keys.key, shared, sizeof shared);
    else
        nm_spark_hkdf(secret, transcript, nm_bytes_of("derivedKey"), keys.key, 16);
    nm_spark_hkdf(secret, transcript, nm_bytes_of("inputIv"), keys.in_iv, 16);
    nm_spark_hkdf(secret, transcript, nm_bytes_of("outputIv"), keys.out_iv, 16);
    assert_int_equal(nm_spark_ctr_cipher_new(&keys, &client), 0);
    nm_writer_done(&both);
    return client;
}

/* Sends a text from one side to the other in pieces of different sizes. */
static void assert_arrives(struct nm_spark_cipher *from, struct nm_spark_cipher *to)
{
    static const char text[] = "A text that is longer than some blocks of AES, and that arrives in pieces.";
    struct nm_bytes rest = nm_bytes_of(text);
    struct nm_writer wire = {}, plain = {};

    for (size_t n = 1; rest.size > 0; n += 3)
        assert_int_equal(nm_spark_cipher_seal(from, nm_bytes_take(&rest, NM_MIN(n, rest.size)), &wire), 0);
    rest = (struct nm_bytes){wire.data, wire.size};
    assert_int_equal(rest.size, strlen(text));
    assert_memory_not_equal(wire.data, text, strlen(text));
    for (size_t n = 5; rest.size > 0; n += 9)
        assert_int_equal(nm_spark_cipher_open(to, nm_bytes_take(&rest, NM_MIN(n, rest.size)), &plain), 0);
    assert_memory_equal(plain.data, text, strlen(text));
    nm_writer_done(&wire);
    nm_writer_done(&plain);
}

static void shake_hands(unsigned version)
{
    struct nm_spark_cipher *client;

    settings.engine_version = version;
    greet_with_own_key(SPARK_APP, SECRET);
    assert_int_equal(send_message(), 0);
    assert_true(nm_spark_auth_is_done(&auth));
    assert_string_equal(auth.app, SPARK_APP);
    client = client_cipher(version);
    assert_arrives(client, cipher);
    assert_arrives(cipher, client);
    assert_arrives(client, cipher);
    nm_spark_cipher_free(client);
}

static void test_a_client_that_knows_the_secret_is_accepted(void **state)
{
    (void)state;
    shake_hands(1);
}

static void test_the_second_version_has_other_keys(void **state)
{
    (void)state;
    shake_hands(2);
}

static void assert_failed(void)
{
    assert_int_equal(send_message(), -EACCES);
    assert_string_equal(why, "Authentication failed.");
    assert_int_equal(auth.state, NM_SPARK_AUTH_FAILED);
    assert_null(cipher);
    assert_int_equal(reply.size, 0);
    nm_spark_auth_init(&auth, &settings);
}

static void test_other_clients_are_refused(void **state)
{
    static const uint8_t low_order[CURVE25519_SIZE] = {0}, one[CURVE25519_SIZE] = {1};

    (void)state;
    greet_with_own_key(SPARK_APP, "another secret");
    assert_failed();
    greet_with_own_key("application_1_0002", SECRET);
    assert_failed();
    greet_with_own_key("../x", SECRET);
    assert_failed();
    greet(SPARK_APP, SECRET, low_order);
    assert_failed();
    greet(SPARK_APP, SECRET, one);
    assert_failed();
    greet_with_own_key(SPARK_APP, "");
    assert_int_equal(nm_spark_applications_add(applications, &fixture.application, (struct nm_bytes){}, true), 0);
    assert_failed(); /* the application has no secret */
}

static void test_changed_messages_are_refused(void **state)
{
    (void)state;
    greet_with_own_key(SPARK_APP, SECRET);
    for (size_t at = 1; at < message.size; at++) {
        message.data[at] ^= 1;
        assert_failed();
        message.data[at] ^= 1;
    }
    for (message.size--; message.size > 0; message.size--) {
        assert_int_equal(send_message(), -EACCES);
        nm_spark_auth_init(&auth, &settings);
    }
}

/* ---- the states of a connection --------------------------------------------------------------- */

static int send_sasl(const char *app, const char *token)
{
    nm_writer_done(&message);
    nm_spark_put_u8(&message, 0xea);
    nm_spark_put_text(&message, nm_bytes_of(app));
    nm_spark_put_text(&message, nm_bytes_of(token));
    return send_message();
}

static void test_an_invalid_response_ends_the_connection(void **state)
{
    (void)state;
    assert_int_equal(send_sasl(SPARK_APP, ""), 0);
    assert_memory_equal(reply.data, "realm=", 6);
    assert_false(nm_spark_auth_is_done(&auth));
    assert_int_equal(send_sasl(SPARK_APP, "response=x"), -EACCES);
    assert_non_null(strstr(why, "Mismatched response."));
    assert_int_equal(auth.state, NM_SPARK_AUTH_FAILED);
}

static void test_the_challenge_is_for_one_application(void **state)
{
    (void)state;
    assert_int_equal(send_sasl("application_1_0002", ""), 0); /* whether it exists is not told */
    assert_int_equal(send_sasl(SPARK_APP, "response=x"), -EACCES);
    assert_int_equal(auth.state, NM_SPARK_AUTH_FAILED);
}

static void test_a_server_without_the_handshake_expects_sasl(void **state)
{
    (void)state;
    settings.has_engine = settings.allows_sasl = false;
    greet_with_own_key(SPARK_APP, SECRET);
    assert_int_equal(send_message(), -EACCES);
    assert_non_null(strstr(why, "Expected SaslMessage"));
    assert_int_equal(auth.state, NM_SPARK_AUTH_NEW);
    assert_int_equal(send_sasl(SPARK_APP, ""), 0);
}

static void test_sasl_may_be_refused(void **state)
{
    (void)state;
    settings.allows_sasl = false;
    assert_int_equal(send_sasl(SPARK_APP, ""), -EACCES);
    assert_int_equal(auth.state, NM_SPARK_AUTH_NEW);
    shake_hands(1);
}

static void test_other_messages_are_refused_a_few_times(void **state)
{
    (void)state;
    nm_spark_put_u8(&message, 2);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(send_message(), -EACCES);
        assert_int_equal(auth.state, NM_SPARK_AUTH_NEW);
    }
    assert_int_equal(send_message(), -EACCES);
    assert_int_equal(auth.state, NM_SPARK_AUTH_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_client_that_knows_the_secret_is_accepted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_second_version_has_other_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_clients_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_changed_messages_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_invalid_response_ends_the_connection, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_challenge_is_for_one_application, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_server_without_the_handshake_expects_sasl, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sasl_may_be_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_messages_are_refused_a_few_times, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
