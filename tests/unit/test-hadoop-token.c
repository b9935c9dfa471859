/* SPDX-License-Identifier: Apache-2.0 */

/* Tokens: their digest, their encoding, credentials, and the content of identifiers. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc/hadoop/digest.h"
#include "rpc/hadoop/token.h"
#include "util/error.h"

static struct nm_bytes bytes(const char *s)
{
    return nm_bytes_of(s);
}

/* Test cases 1, 2 and 6 of RFC 2202. */
static void test_the_hmac_equals_that_of_the_rfc(void **state)
{
    static const uint8_t first[] = {0xb6, 0x17, 0x31, 0x86, 0x55, 0x05, 0x72, 0x64, 0xe2, 0x8b,
                                    0xc0, 0xb6, 0xfb, 0x37, 0x8c, 0x8e, 0xf1, 0x46, 0xbe, 0x00};
    static const uint8_t second[] = {0xef, 0xfc, 0xdf, 0x6a, 0xe5, 0xeb, 0x2f, 0xa2, 0xd2, 0x74,
                                     0x16, 0xd5, 0xf1, 0x84, 0xdf, 0x9c, 0x25, 0x9a, 0x7c, 0x79};
    static const uint8_t sixth[] = {0xaa, 0x4a, 0xe5, 0xe1, 0x52, 0x72, 0xd0, 0x0e, 0x95, 0x70,
                                    0x56, 0x37, 0xce, 0x8a, 0x3b, 0x55, 0xed, 0x40, 0x21, 0x12};
    const char *question = "what do ya want for nothing?",
               *larger = "Test Using Larger Than Block-Size Key - Hash Key First";
    uint8_t key[80], out[NM_DIGEST_SIZE];

    (void)state;
    memset(key, 0x0b, 20);
    assert_int_equal(nm_digest_hmac(key, 20, (const uint8_t *)"Hi There", 8, out), 0);
    assert_memory_equal(out, first, sizeof first);
    assert_int_equal(nm_digest_hmac((const uint8_t *)"Jefe", 4, (const uint8_t *)question, strlen(question), out), 0);
    assert_memory_equal(out, second, sizeof second);
    memset(key, 0xaa, 80);
    assert_int_equal(nm_digest_hmac(key, 80, (const uint8_t *)larger, strlen(larger), out), 0);
    assert_memory_equal(out, sixth, sizeof sixth);
    assert_int_equal(nm_digest_verify(key, 80, (const uint8_t *)larger, strlen(larger), sixth, sizeof sixth), 0);
    assert_int_equal(nm_digest_verify(key, 80, (const uint8_t *)larger, strlen(larger), sixth, 19), -EKEYREJECTED);
    assert_int_equal(nm_digest_verify(key, 79, (const uint8_t *)larger, strlen(larger), sixth, sizeof sixth),
                     -EKEYREJECTED);
}

/* ---- Writable ----------------------------------------------------------------------------- */

static const struct {
    int64_t value;
    const char *wire;
    size_t size;
} vints[] = {
    {0, "\x00", 1},
    {127, "\x7f", 1},
    {-112, "\x90", 1},
    {128, "\x8f\x80", 2},
    {255, "\x8f\xff", 2},
    {256, "\x8e\x01\x00", 3},
    {-113, "\x87\x70", 2},
    {-256, "\x87\xff", 2},
    {-257, "\x86\x01\x00", 3},
    {INT64_MAX, "\x88\x7f\xff\xff\xff\xff\xff\xff\xff", 9},
    {INT64_MIN, "\x80\x7f\xff\xff\xff\xff\xff\xff\xff", 9},
};

static void test_variable_integers_are_encoded_as_in_java(void **state)
{
    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(vints); i++) {
        struct nm_bytes wire = {(const uint8_t *)vints[i].wire, vints[i].size}, written;
        struct nm_writer w = {};
        int64_t value;

        nm_writer_vint(&w, vints[i].value);
        assert_int_equal(nm_writer_result(&w, &written), 0);
        assert_true(nm_bytes_equal(written, wire));
        nm_writer_done(&w);
        for (size_t n = 0; n < wire.size; n++) {
            struct nm_bytes cut = {wire.data, n};
            assert_int_equal(nm_writable_vint(&cut, &value), -EBADMSG);
            assert_int_equal(cut.size, n);
        }
        assert_int_equal(nm_writable_vint(&wire, &value), 0);
        assert_true(value == vints[i].value);
        assert_int_equal(wire.size, 0);
    }
}

static void test_tokens_are_encoded_as_in_java(void **state)
{
    static const struct nm_bytes bad[] = {
        {(const uint8_t *)"\x05four", 5},
        {(const uint8_t *)"\xff", 1},                             /* -1 */
        {(const uint8_t *)"\x88\x7f\xff\xff\xff\xff\xff\xff\xff", 9},
    };
    struct nm_bytes got;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        struct nm_bytes from = bad[i];
        assert_int_equal(nm_writable_bytes(&from, &got), -EBADMSG);
        assert_int_equal(from.size, bad[i].size);
    }
}

/* ---- credentials -------------------------------------------------------------------------- */

static const struct nm_token job = {
    .identifier = {(const uint8_t *)"id", 2},
    .password = {(const uint8_t *)"secret\0!", 8},
    .kind = {(const uint8_t *)"mapreduce.job", 13},
    .service = {(const uint8_t *)"", 0},
};

static void assert_token(const struct nm_token *a, const struct nm_token *b)
{
    assert_true(nm_bytes_equal(a->identifier, b->identifier));
    assert_true(nm_bytes_equal(a->password, b->password));
    assert_true(nm_bytes_equal(a->kind, b->kind));
    assert_true(nm_bytes_equal(a->service, b->service));
}

static int parse(struct nm_arena *a, struct nm_bytes data, struct nm_credentials *ret)
{
    nm_arena_done(a);
    nm_arena_init(a, nm_arena_limit(data.size), NULL);
    return nm_credentials_parse(a, data, ret);
}

static void test_credentials_read_back_as_written(void **state)
{
    struct nm_credential tokens[] = {{bytes("one"), job}, {bytes("two"), job}};
    struct nm_secret secrets[] = {{bytes("shuffle"), bytes("key")}};
    struct nm_credentials in = {tokens, 2, secrets, 1}, out = {};
    struct nm_arena a = {};
    struct nm_writer w = {};
    struct nm_bytes written;

    (void)state;
    nm_credentials_write(&in, &w);
    assert_int_equal(nm_writer_result(&w, &written), 0);
    for (size_t n = 0; n < written.size; n++)
        assert_int_equal(parse(&a, (struct nm_bytes){written.data, n}, &out), -EBADMSG);
    assert_int_equal(parse(&a, written, &out), 0);
    assert_int_equal(out.n_tokens, 2);
    assert_int_equal(out.n_secrets, 1);
    assert_token(&out.tokens[1].token, &job);
    assert_true(nm_bytes_equal(out.tokens[1].alias, bytes("two")));
    assert_true(nm_bytes_equal(out.secrets[0].value, bytes("key")));
    nm_writer_put(&w, bytes("x")); /* appends one byte too many */
    assert_int_equal(nm_writer_result(&w, &written), 0);
    assert_int_equal(parse(&a, written, &out), -EBADMSG);
    nm_writer_done(&w);

    /* Empty credentials have seven bytes. */
    nm_credentials_write(&(struct nm_credentials){}, &w);
    assert_int_equal(nm_writer_result(&w, &written), 0);
    assert_true(nm_bytes_equal(written, (struct nm_bytes){(const uint8_t *)"HDTS\0\0\0", 7}));
    assert_int_equal(parse(&a, written, &out), 0);
    nm_writer_done(&w);
    nm_arena_done(&a);
}

static void test_credentials_in_protobuf_are_read(void **state)
{
    Hadoop__Token token = HADOOP__TOKEN__INIT;
    Hadoop__Credential credential = HADOOP__CREDENTIAL__INIT;
    Hadoop__Credentials bag = HADOOP__CREDENTIALS__INIT;
    uint8_t file[256] = "HDTS\x01";
    Hadoop__Credential *list[] = {&credential};
    struct nm_credentials out;
    struct nm_arena a = {};
    size_t n;

    (void)state;
    token.identifier = (ProtobufCBinaryData){2, (uint8_t *)"id"};
    token.password = (ProtobufCBinaryData){8, (uint8_t *)"secret\0!"};
    token.kind = (char *)"mapreduce.job";
    token.service = (char *)"";
    credential.alias = (char *)"one";
    credential.token = &token;
    bag.tokens = list;
    bag.n_tokens = 1;
    n = hadoop__credentials__pack(&bag, file + 6);
    file[5] = (uint8_t)n;
    assert_int_equal(parse(&a, (struct nm_bytes){file, 6 + n}, &out), 0);
    assert_int_equal(out.n_tokens, 1);
    assert_token(&out.tokens[0].token, &job);
    assert_int_equal(parse(&a, (struct nm_bytes){file, 5 + n}, &out), -EBADMSG);
    /* an entry of the secrets that has a token */
    bag.secrets = list;
    bag.n_secrets = 1;
    bag.n_tokens = 0;
    n = hadoop__credentials__pack(&bag, file + 6);
    file[5] = (uint8_t)n;
    assert_int_equal(parse(&a, (struct nm_bytes){file, 6 + n}, &out), -EBADMSG);
    nm_arena_done(&a);
}

/* A false count that is not followed by data does not allocate memory. */
static void test_a_count_without_data_allocates_no_memory(void **state)
{
    static const struct nm_bytes bad[] = {
        {(const uint8_t *)"HDTS\0\x8c\x7f\xff\xff\xff", 10},
        {(const uint8_t *)"HDTS\0\0\x8c\x7f\xff\xff\xff", 11},
        {(const uint8_t *)"HDTS\0\xff", 6},
        {(const uint8_t *)"HDTS\2\0\0", 7},
        {(const uint8_t *)"HDTX\0\0\0", 7},
    };
    struct nm_credentials out;
    struct nm_arena a = {};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++)
        assert_int_equal(parse(&a, bad[i], &out), -EBADMSG);
    nm_arena_done(&a);
}

/* ---- identifiers -------------------------------------------------------------------------- */

static const uint8_t key[] = {1, 2, 3, 4, 5, 6, 7, 8};

static struct nm_token *sign_nm_token(Hadoop__NMTokenIdentifier *id)
{
    static Hadoop__ApplicationId app = HADOOP__APPLICATION_ID__INIT;
    static Hadoop__AttemptId attempt = HADOOP__ATTEMPT_ID__INIT;
    static Hadoop__NodeId node = HADOOP__NODE_ID__INIT;
    struct nm_token *t;

    *id = (Hadoop__NMTokenIdentifier)HADOOP__NMTOKEN_IDENTIFIER__INIT;
    app.has_id = app.has_cluster_timestamp = attempt.has_attempt = node.has_port = id->has_key_id = 1;
    app.id = 7;
    app.cluster_timestamp = INT64_C(1700000000000);
    attempt.application = &app;
    attempt.attempt = 1;
    node.host = (char *)"worker-1";
    node.port = 45454;
    id->attempt = &attempt;
    id->node = &node;
    id->submitter = (char *)"alice";
    id->key_id = -5;
    assert_int_equal(nm_token_sign(&id->base, NM_TOKEN_KIND_NM, "127.0.0.1:45454", key, sizeof key, &t), 0);
    return t;
}

static void test_an_nm_token_reads_back_as_written(void **state)
{
    Hadoop__NMTokenIdentifier id;
    const Hadoop__NMTokenIdentifier *parsed;
    struct nm_token *t = sign_nm_token(&id), *copy;
    struct nm_writer w = {};
    struct nm_bytes written;
    struct nm_token read;
    struct nm_arena a;

    (void)state;
    assert_int_equal(nm_token_verify(t, NM_TOKEN_KIND_NM, key, sizeof key), 0);
    assert_int_equal(nm_token_verify(t, NM_TOKEN_KIND_CONTAINER, key, sizeof key), -EKEYREJECTED);
    assert_int_equal(nm_token_verify(t, NM_TOKEN_KIND_NM, key, sizeof key - 1), -EKEYREJECTED);
    nm_arena_init(&a, nm_arena_limit(t->identifier.size), NULL);
    assert_int_equal(nm_token_parse_nm(&a, t->identifier, &parsed), 0);
    assert_string_equal(parsed->node->host, "worker-1");
    assert_int_equal(parsed->key_id, -5);
    assert_int_equal(parsed->attempt->application->id, 7);
    nm_arena_done(&a);
    /* the token is written and read back */
    nm_token_write(t, &w);
    assert_int_equal(nm_writer_result(&w, &written), 0);
    assert_int_equal(nm_token_read(&written, &read), 0);
    assert_int_equal(written.size, 0);
    assert_token(&read, t);
    assert_int_equal(nm_token_copy(&read, &copy), 0);
    nm_writer_done(&w);
    assert_token(copy, t);
    /* a change of any bit of the identifier makes the token invalid */
    for (size_t bit = 0; bit < 8 * copy->identifier.size; bit++) {
        uint8_t *byte = (uint8_t *)copy->identifier.data + bit / 8;

        *byte ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(nm_token_verify(copy, NM_TOKEN_KIND_NM, key, sizeof key), -EKEYREJECTED);
        *byte ^= (uint8_t)(1u << bit % 8);
    }
    nm_token_free(copy);
    nm_token_free(t);
}

/* An identifier is refused if it lacks a member that all its users need. */
static void test_incomplete_identifiers_are_refused(void **state)
{
    const Hadoop__ContainerTokenIdentifier *container;
    const Hadoop__AMRMTokenIdentifier *amrm;
    const Hadoop__NMTokenIdentifier *nm;
    Hadoop__NMTokenIdentifier id;
    struct nm_token *t = sign_nm_token(&id);
    uint8_t packed[128];
    struct nm_arena a;
    size_t n;

    (void)state;
    nm_arena_init(&a, 1 << 20, NULL);
    assert_int_equal(nm_token_parse_container(&a, t->identifier, &container), -EBADMSG);
    assert_int_equal(nm_token_parse_nm(&a, bytes(""), &nm), -EBADMSG);
    assert_int_equal(nm_token_parse_amrm(&a, bytes("\xff\xff"), &amrm), -EBADMSG);
    id.node->has_port = 0;
    n = hadoop__nmtoken_identifier__pack(&id, packed);
    assert_int_equal(nm_token_parse_nm(&a, (struct nm_bytes){packed, n}, &nm), -EBADMSG);
    id.node->has_port = 1;
    id.attempt->application->has_cluster_timestamp = 0;
    n = hadoop__nmtoken_identifier__pack(&id, packed);
    assert_int_equal(nm_token_parse_nm(&a, (struct nm_bytes){packed, n}, &nm), -EBADMSG);
    id.attempt->application->has_cluster_timestamp = 1;
    id.submitter = (char *)"";
    n = hadoop__nmtoken_identifier__pack(&id, packed);
    assert_int_equal(nm_token_parse_nm(&a, (struct nm_bytes){packed, n}, &nm), -EBADMSG);
    nm_arena_done(&a);
    nm_token_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_hmac_equals_that_of_the_rfc),
        cmocka_unit_test(test_variable_integers_are_encoded_as_in_java),
        cmocka_unit_test(test_tokens_are_encoded_as_in_java),
        cmocka_unit_test(test_credentials_read_back_as_written),
        cmocka_unit_test(test_credentials_in_protobuf_are_read),
        cmocka_unit_test(test_a_count_without_data_allocates_no_memory),
        cmocka_unit_test(test_an_nm_token_reads_back_as_written),
        cmocka_unit_test(test_incomplete_identifiers_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
