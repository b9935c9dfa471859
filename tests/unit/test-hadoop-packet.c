/* SPDX-License-Identifier: Apache-2.0 */

/* Frames, packets, arenas and exceptions: data in pieces, data that is too long, and data of another format. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc/hadoop/arena.h"
#include "rpc/hadoop/exception.h"
#include "rpc/hadoop/fields.h"
#include "rpc/hadoop/packet.h"
#include "rpc/hadoop/rpc.pb-c.h"
#include "rpc/hadoop/security.pb-c.h"
#include "util/error.h"

/* ---- frames ------------------------------------------------------------------------------- */

/* Gives bytes to the frame as a socket does: at most at_most bytes, and not more than the reader requests. */
static int feed(struct nm_hadoop_frame *f, const uint8_t **data, size_t *size, size_t at_most)
{
    size_t n;
    uint8_t *to;
    int r = nm_hadoop_frame_want(f, &to, &n);

    if (r < 0)
        return r;
    n = NM_MIN(n, at_most);
    n = NM_MIN(n, *size);
    memcpy(to, *data, n);
    *data += n;
    *size -= n;
    return nm_hadoop_frame_got(f, n);
}

/* Two frames arrive, split once at each byte, and then byte by byte. */
static void test_a_frame_may_be_split_at_each_byte(void **state)
{
    static const uint8_t wire[] = {0, 0, 0, 5, 'h', 'e', 'l', 'l', 'o', 0, 0, 0, 1, 'x'};
    static const struct nm_bytes frames[] = {{wire + 4, 5}, {wire + 13, 1}};

    (void)state;
    for (size_t cut = 0; cut <= sizeof wire; cut++) {
        const uint8_t *p = wire;
        size_t n_frames = 0, left = sizeof wire;
        struct nm_hadoop_frame f = {};

        nm_hadoop_frame_init(&f, 5, NULL);
        while (left > 0) {
            size_t done = sizeof wire - left;
            int r = feed(&f, &p, &left, cut == 0 ? 1 : done < cut ? cut - done : left);

            assert_true(r == 0 || r == NM_HADOOP_FRAME_E_WHOLE);
            assert_true(nm_hadoop_frame_begun(&f));
            if (r == 0)
                continue;
            assert_true(n_frames < 2);
            assert_true(nm_bytes_equal((struct nm_bytes){f.data, f.size}, frames[n_frames++]));
            nm_hadoop_frame_drop(&f);
            assert_false(nm_hadoop_frame_begun(&f));
        }
        assert_int_equal(n_frames, 2);
    }
}

static int read_head(struct nm_hadoop_frame *f, uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
    const uint8_t head[] = {a, b, c, d}, *p = head;
    size_t left = sizeof head;

    return feed(f, &p, &left, 4);
}

static void test_frames_with_an_invalid_length_are_refused(void **state)
{
    struct nm_hadoop_frame f = {};

    (void)state;
    nm_hadoop_frame_init(&f, 1000, NULL);
    assert_int_equal(read_head(&f, 0, 0, 3, 0xe8), 0);
    nm_hadoop_frame_drop(&f);
    assert_int_equal(read_head(&f, 0, 0, 3, 0xe9), -EMSGSIZE);
    nm_hadoop_frame_drop(&f);
    assert_int_equal(read_head(&f, 0xff, 0xff, 0xff, 0xff), -EMSGSIZE);
    nm_hadoop_frame_drop(&f);
    assert_int_equal(read_head(&f, 0, 0, 0, 0), -EBADMSG);
    nm_hadoop_frame_drop(&f);
}

/* The header of a long frame does not allocate the frame's whole buffer. The account is charged as data arrives, and
 * reading stops at the account's limit. */
static void test_the_buffer_of_a_frame_grows_as_data_arrives(void **state)
{
    struct nm_quota_account *a;
    struct nm_quota *quota;
    struct nm_hadoop_frame f = {};
    uint8_t *to;
    size_t n;
    int r;

    (void)state;
    assert_int_equal(nm_quota_new(UINT64_C(256) << 10, &quota), 0);
    assert_int_equal(nm_quota_account_of(quota, "somebody", false, &a), 0);
    nm_hadoop_frame_init(&f, 64 << 20, a);
    assert_int_equal(read_head(&f, 2, 0, 0, 0), 0);
    assert_int_equal(nm_quota_account_bytes(a), 0);
    while ((r = nm_hadoop_frame_want(&f, &to, &n)) == 0) {
        memset(to, 1, n);
        assert_int_equal(nm_hadoop_frame_got(&f, n), 0);
        assert_true(nm_quota_account_bytes(a) <= 2 * f.n + 4096);
    }
    assert_int_equal(r, -ENOBUFS);
    assert_true(nm_quota_account_bytes(a) <= 64 << 10); /* accounts that aren't administrators share half of the quota,
                                                           and one account may use half of this */
    nm_hadoop_frame_drop(&f);
    assert_int_equal(nm_quota_account_bytes(a), 0);
    nm_quota_account_unref(a);
    nm_quota_free(quota);
}

/* ---- packets ------------------------------------------------------------------------------ */

/* Requests and answers have the bytes that Java writes and that the protocol's manual gives. */
static void test_packets_have_the_same_bytes_as_those_of_java(void **state)
{
    static const uint8_t sasl_request[] = {0, 0, 0, 13, 8, 0x08, 2, 0x10, 0, 0x18, 65, 0x22, 0, 3, 8, 9, 0x10};
    static const uint8_t minus_33[] = {0x08, 0xdf, 0xff, 0xff, 0xff, 0x0f, 0x10, 0x00};
    Hadoop__RpcRequest header = HADOOP__RPC_REQUEST__INIT;
    Hadoop__RpcResponse answer = HADOOP__RPC_RESPONSE__INIT;
    const ProtobufCMessage *messages[] = {&header.base, NULL};
    const struct nm_bytes last = {(const uint8_t *)"\x08\x09\x10", 3};
    struct nm_packet_frame *f;
    uint8_t packed[16];

    (void)state;
    header.has_kind = header.has_operation = 1;
    header.kind = HADOOP__RPC_REQUEST__KIND__PROTOCOL_BUFFER;
    header.call_id = -33;
    assert_int_equal(nm_packet_build(messages, &last, &f), 0);
    assert_int_equal(f->size, sizeof sasl_request);
    assert_memory_equal(f->data, sasl_request, sizeof sasl_request);
    free(f);

    answer.call_id = (uint32_t)-33;
    assert_int_equal(hadoop__rpc_response__get_packed_size(&answer), sizeof minus_33);
    (void)hadoop__rpc_response__pack(&answer, packed);
    assert_memory_equal(packed, minus_33, sizeof minus_33);
}

/* Each truncation of a packet is detected. No truncated packet is accepted as another packet. */
static void test_a_truncated_packet_is_refused(void **state)
{
    Hadoop__RequestHeader header = HADOOP__REQUEST_HEADER__INIT;
    const ProtobufCMessage *messages[] = {&header.base, NULL};
    const struct nm_bytes last = {NULL, 0};
    struct nm_packet_frame *f;
    char name[301];

    (void)state;
    memset(name, 'm', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    header.method = name;
    header.protocol = (char *)"p";
    assert_int_equal(nm_packet_build(messages, &last, &f), 0);
    for (size_t n = 0; n <= f->size - 4; n++) {
        struct nm_bytes packet = {f->data + 4, n}, message = {}, before = packet;
        int r = nm_packet_next(&packet, &message);

        if (n < f->size - 5) {
            assert_int_equal(r, -EBADMSG);
            assert_true(packet.data == before.data && packet.size == before.size);
            continue;
        }
        assert_int_equal(r, 0);
        assert_int_equal(message.size, hadoop__request_header__get_packed_size(&header));
        assert_int_equal(packet.size, n - (f->size - 5));
        /* an empty message is a length of one byte */
        assert_int_equal(nm_packet_next(&packet, &message), packet.size > 0 || n == f->size - 4 ? 0 : -EBADMSG);
    }
    free(f);
}

static void test_invalid_varints_are_refused(void **state)
{
    static const struct nm_bytes bad[] = {
        {(const uint8_t *)"", 0},
        {(const uint8_t *)"\x80", 1},
        {(const uint8_t *)"\x80\x80\x80\x80\x80\x01", 6},
        {(const uint8_t *)"\xff\xff\xff\xff\x0f", 5}, /* -1 */
        {(const uint8_t *)"\xff\xff\xff\xff\x07", 5}, /* a length of 2 GiB, followed by no data */
        {(const uint8_t *)"\x02x", 2},
    };
    struct nm_bytes message;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        struct nm_bytes packet = bad[i];
        assert_int_equal(nm_packet_next(&packet, &message), -EBADMSG);
    }
}

/* ---- arenas ------------------------------------------------------------------------------- */

static void test_an_arena_charges_its_account(void **state)
{
    struct nm_arena a;

    (void)state;
    nm_arena_init(&a, 1 << 20, NULL);
    for (size_t i = 1; i < 3000; i += 7) {
        uint8_t *p = nm_arena_alloc(&a, i % 300);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        memset(p, (int)i, i % 300);
    }
    assert_null(nm_arena_alloc(&a, 1 << 20));
    assert_null(nm_arena_alloc(&a, SIZE_MAX));
    assert_false(nm_arena_has_room(&a, 1 << 20));
    assert_true(nm_arena_has_room(&a, 500000));
    assert_non_null(nm_arena_alloc(&a, 500000));
    nm_arena_done(&a);
    nm_arena_done(&a);
}

/* Two bytes of a message may unpack to a hundred bytes. The arena does not exceed its limit, charges the account, and
 * returns all bytes to the account at its end. */
static void test_an_arena_does_not_exceed_its_limit(void **state)
{
    uint8_t auths[20000];
    struct nm_quota_account *account;
    struct nm_quota *quota;
    struct nm_arena a;

    (void)state;
    assert_int_equal(nm_quota_new(8 << 20, &quota), 0);
    assert_int_equal(nm_quota_account_of(quota, "somebody", false, &account), 0);
    /* RpcSasl: unknown fields of length 0 */
    for (size_t i = 0; i < sizeof auths; i += 2) {
        auths[i] = 0x7a;
        auths[i + 1] = 0;
    }
    nm_arena_init(&a, nm_arena_limit(sizeof auths), account);
    assert_null(nm_arena_unpack(&a, &hadoop__rpc_sasl__descriptor, (struct nm_bytes){auths, sizeof auths}));
    assert_true(nm_quota_account_bytes(account) <= nm_arena_limit(sizeof auths));
    nm_arena_done(&a);
    assert_int_equal(nm_quota_account_bytes(account), 0);
    nm_arena_init(&a, nm_arena_limit(4), account);
    assert_non_null(nm_arena_unpack(&a, &hadoop__rpc_sasl__descriptor, (struct nm_bytes){(uint8_t *)"\x10\x01", 2}));
    assert_true(nm_quota_account_bytes(account) > 0);
    nm_arena_done(&a);
    nm_arena_init(&a, SIZE_MAX, account);
    assert_true(nm_arena_has_room(&a, 2 << 20));
    assert_false(nm_arena_has_room(&a, 5 << 19)); /* more than an account may hold */
    assert_int_equal(nm_quota_account_bytes(account), 0);
    for (size_t i = 0; i < (2 << 20) / 1024 - 200; i++) /* fewer pieces than fit into 2 MiB, because each piece has an
                                                           overhead */
        assert_non_null(nm_arena_alloc(&a, 1000));
    nm_arena_done(&a);
    assert_int_equal(nm_quota_account_bytes(account), 0);
    nm_quota_account_unref(account);
    nm_quota_free(quota);
}

/* ---- strings and bytes -------------------------------------------------------------------- */

static const Hadoop__Credentials *credentials(struct nm_arena *a, const void *data, size_t size)
{
    nm_arena_done(a);
    nm_arena_init(a, nm_arena_limit(size), NULL);
    return (const Hadoop__Credentials *)nm_arena_unpack(a, &hadoop__credentials__descriptor,
                                                        (struct nm_bytes){data, size});
}

/* A string that contains a NUL is refused in messages of any depth. Fields of bytes may contain a NUL. */
static void test_a_string_with_a_nul_is_refused(void **state)
{
    /* tokens { alias: "ab", token { identifier: "xy", password: "pw", kind: "k", service: "sv" } } */
    static const char good[] = "\x0a\x15\x0a\x02"
                               "ab\x12\x0f\x0a\x02xy\x12\x02pw\x1a\x01k\x22\x02sv";
    static const struct {
        size_t at;
        const char *path; /* NULL: a field of bytes */
    } cases[] = {{4, "tokens.alias"},          {5, "tokens.alias"},          {10, NULL}, {14, NULL},
                 {18, "tokens.token.kind"},    {21, "tokens.token.service"}, {22, "tokens.token.service"}};
    char data[sizeof good - 1], path[64];
    struct nm_arena a = {};

    (void)state;
    assert_non_null(credentials(&a, good, sizeof data));
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_bytes message = {(uint8_t *)data, sizeof data};

        memcpy(data, good, sizeof data);
        data[cases[i].at] = '\0';
        assert_int_equal(credentials(&a, data, sizeof data) == NULL, cases[i].path != NULL);
        assert_int_equal(nm_arena_error(&a), -EBADMSG);
        assert_int_equal(nm_fields_have_nul(&hadoop__credentials__descriptor, message, path, sizeof path),
                         cases[i].path != NULL);
        if (cases[i].path)
            assert_string_equal(path, cases[i].path);
        if (cases[i].path && nm_fields_have_nul(&hadoop__credentials__descriptor, message, path, 8))
            assert_true(strlen(path) < 8);
    }
    nm_arena_done(&a);
}

/* Empty or absent fields of bytes also have a data pointer, in lists and nested messages, too. */
static void test_empty_bytes_have_a_data_pointer(void **state)
{
    static const char data[] = "\x0a\x0e\x0a\x00\x12\x0a\x0a\x00\x12\x00\x1a\x01k\x22\x01s"
                               "\x12\x04\x0a\x00\x1a\x00";
    const Hadoop__Credentials *c;
    struct nm_arena a = {};

    (void)state;
    c = credentials(&a, data, sizeof data - 1);
    assert_non_null(c);
    assert_int_equal(c->tokens[0]->token->identifier.len, 0);
    assert_non_null(c->tokens[0]->token->identifier.data);
    assert_non_null(c->tokens[0]->token->password.data);
    assert_non_null(c->tokens[0]->secret.data);
    assert_false(c->tokens[0]->has_secret);
    assert_true(c->secrets[0]->has_secret);
    assert_non_null(c->secrets[0]->secret.data);
    nm_arena_done(&a);
}

/* ---- exceptions --------------------------------------------------------------------------- */

static void test_each_exception_has_its_java_class(void **state)
{
    char longer[3000];
    struct nm_exception e;

    (void)state;
    nm_exception_receive(&e, 1, "java.io.IOException", "no\nroom\n\tat org.apache.X.y(X.java:1)\n");
    assert_string_equal(e.message, "no room");
    assert_true(nm_exception_is(&e, "java.io.IOException"));
    nm_exception_receive(&e, 0, NULL, NULL);
    assert_string_equal(e.class_name, "");
    assert_string_equal(e.message, "");
    nm_exception_receive(&e, 0, "x", "a\x1b[31m\xff\xc3\xa4\xe2\x82\xac\xc3");
    assert_string_equal(e.message, "a [31m?\xc3\xa4\xe2\x82\xac?");
    /* the text is cut between two characters: 1023 bytes hold 511 characters of two bytes each, and one byte remains
     * unused */
    for (size_t i = 0; i < sizeof longer - 1; i++)
        longer[i] = "\xc3\xa4"[i % 2];
    longer[sizeof longer - 1] = '\0';
    nm_exception_receive(&e, 0, longer, longer);
    assert_int_equal(strlen(e.message), 1022);
    assert_int_equal(strlen(e.class_name), 158);
    nm_exception_set(&e, 15, "C", "%s %d", "seven", 7);
    assert_string_equal(e.message, "seven 7");
    assert_int_equal(e.detail, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_frame_may_be_split_at_each_byte),
        cmocka_unit_test(test_frames_with_an_invalid_length_are_refused),
        cmocka_unit_test(test_the_buffer_of_a_frame_grows_as_data_arrives),
        cmocka_unit_test(test_packets_have_the_same_bytes_as_those_of_java),
        cmocka_unit_test(test_a_truncated_packet_is_refused),
        cmocka_unit_test(test_invalid_varints_are_refused),
        cmocka_unit_test(test_an_arena_charges_its_account),
        cmocka_unit_test(test_an_arena_does_not_exceed_its_limit),
        cmocka_unit_test(test_a_string_with_a_nul_is_refused),
        cmocka_unit_test(test_empty_bytes_have_a_data_pointer),
        cmocka_unit_test(test_each_exception_has_its_java_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
