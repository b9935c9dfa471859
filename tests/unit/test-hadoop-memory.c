/* SPDX-License-Identifier: Apache-2.0 */

/* Hadoop's RPC when allocations fail. The error is reported, no memory leaks, and the next call is served. */

#include "hadoop-fixture.h"

#include <errno.h>
#include <sys/socket.h>

#include "fail-nth.h"
#include "open-descriptors.h"
#include "rpc/hadoop/security.pb-c.h"
#include "rpc/hadoop/token.h"
#include "util/fileio.h"

static int sign(void *userdata)
{
    Hadoop__NodeId id = HADOOP__NODE_ID__INIT;
    struct nm_token *t = userdata, *ret = t;
    int r;

    id.host = (char *)"a.host";
    r = nm_token_sign(&id.base, NM_TOKEN_KIND_NM, "a.host:1", (const uint8_t *)"key", 3, &ret);
    if (r < 0)
        assert_ptr_equal(ret, t); /* unchanged after a failure */
    else
        nm_token_free(ret);
    return r;
}

static int copy(void *userdata)
{
    struct nm_token *ret = userdata;
    int r = nm_token_copy(&fixture_token, &ret);

    if (r < 0)
        assert_ptr_equal(ret, userdata);
    else
        nm_token_free(ret);
    return r;
}

static void test_a_failed_allocation_for_a_token_is_an_error(void **state)
{
    struct nm_token sentinel;

    (void)state;
    assert_true(fail_each(sign, &sentinel) >= 2);
    assert_true(fail_each(copy, &sentinel) >= 1);
}

#define N_TOKENS 20

static int write_tokens(void *userdata)
{
    static struct nm_credential list[N_TOKENS];
    static struct nm_secret secrets[] = {{{(const uint8_t *)"alias", 5}, {(const uint8_t *)"secret", 6}}};
    const struct nm_credentials c = {list, N_TOKENS, secrets, 1};
    struct nm_writer w = {};
    struct nm_bytes result;
    int r;

    for (unsigned i = 0; i < N_TOKENS; i++)
        list[i] = (struct nm_credential){{(const uint8_t *)"alias", 5}, fixture_token};
    nm_credentials_write(&c, &w);
    r = nm_writer_result(&w, &result);
    if (r == 0 && userdata) {
        *(struct nm_bytes *)userdata = (struct nm_bytes){w.data, w.size};
        return 0;
    }
    nm_writer_done(&w);
    return r;
}

struct paid {
    struct nm_quota_account *account;
    struct nm_bytes written;
};

static int read_tokens(void *userdata)
{
    struct paid *p = userdata;
    struct nm_credentials c;
    struct nm_arena a;
    int r;

    nm_arena_init(&a, nm_arena_limit(p->written.size), p->account);
    r = nm_credentials_parse(&a, p->written, &c);
    if (r == 0) {
        assert_int_equal(c.n_tokens, N_TOKENS);
        assert_int_equal(c.n_secrets, 1);
        assert_true(nm_quota_account_bytes(p->account) > 0);
    }
    nm_arena_done(&a);
    assert_int_equal(nm_quota_account_bytes(p->account), 0);
    return r;
}

/* All bytes that an arena has charged are returned to the account, also if an allocation fails after it was charged. */
static void test_a_failed_allocation_for_credentials_leaves_the_account_unchanged(void **state)
{
    struct nm_quota *quota;
    struct paid p;

    (void)state;
    assert_true(fail_each(write_tokens, NULL) >= 2);
    assert_int_equal(write_tokens(&p.written), 0);
    assert_int_equal(nm_quota_new(1u << 20, &quota), 0);
    assert_int_equal(nm_quota_account_of(quota, "somebody", false, &p.account), 0);
    assert_true(fail_each(read_tokens, &p) >= 1);
    nm_quota_account_unref(p.account);
    nm_quota_free(quota);
    free((void *)(uintptr_t)p.written.data);
}

/* ---- client and server -------------------------------------------------------------------- */

static int make_client(void *userdata)
{
    struct fixture *f = userdata;
    const struct nm_hadoop_client_options options = {
        .address = (const struct sockaddr *)&f->address, .address_size = sizeof f->address,
        .protocol = FIXTURE_PROTOCOL, .version = 1, .user = "tester", .token = &fixture_token,
    };
    unsigned descriptors = open_descriptors();
    struct nm_hadoop_client *c;
    int r = nm_hadoop_client_new(f->event, &options, &c);

    if (r == 0)
        nm_hadoop_client_free(c);
    assert_int_equal(open_descriptors(), descriptors);
    return r;
}

static int make_server(void *userdata)
{
    struct fixture *f = userdata;
    static const struct nm_hadoop_protocol none = {FIXTURE_PROTOCOL, 1, NULL, 0};
    const struct nm_hadoop_server_options options = {.protocols = &none, .n_protocols = 1};
    unsigned descriptors = open_descriptors();
    struct nm_hadoop_server *s;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

    assert_true(fd >= 0);
    assert_int_equal(listen(fd, 1), 0);
    r = nm_hadoop_server_new(f->event, fd, &options, &s); /* nm_hadoop_server_new() takes ownership of the descriptor,
                                                             also when it fails */
    if (r == 0)
        nm_hadoop_server_free(s);
    assert_int_equal(open_descriptors(), descriptors);
    return r;
}

static void test_a_failed_allocation_for_a_server_is_an_error(void **state)
{
    struct fixture f;

    (void)state;
    fixture_set_up(&f, NULL, true);
    assert_true(fail_each(make_client, &f) >= 3);
    assert_true(fail_each(make_server, &f) >= 2);
    fixture_tear_down(&f);
}

struct outcome {
    unsigned n;
    int error;
};

static void on_reply(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct outcome *o = userdata;

    (void)why;
    o->n++;
    o->error = error;
    if (error == 0)
        assert_string_equal(((const Hadoop__NodeId *)answer)->host, "a.host");
}

/* Makes one call with one client and returns the result of the call. fails_at: number of the allocation that fails, in
 * client or server; 0: none. */
static int echo(struct fixture *f, bool secure, unsigned fails_at, bool *ret_refused)
{
    struct nm_hadoop_client_options options = {.token = secure ? &fixture_token : NULL};
    struct nm_hadoop_client *c = fixture_client(f, &options);
    Hadoop__NodeId request = HADOOP__NODE_ID__INIT;
    struct outcome o = {};

    request.host = (char *)"a.host";
    fail_nth(FAIL_MEMORY | FAIL_EVENT, fails_at);
    o.error = nm_hadoop_client_call(c, "echo", &request.base, &hadoop__node_id__descriptor, 0, 60 * NM_USEC_PER_SEC,
                                    on_reply, &o);
    if (o.error == 0)
        fixture_run_until(f, &o.n, 1);
    *ret_refused = fail_stop();
    assert_true(o.n <= 1);
    nm_hadoop_client_free(c);
    fixture_run_until_gone(f);
    return o.error;
}

/* Fails each allocation of a connection once. The client must get an error, and the next client must be served. */
static void each_of_a_call(bool secure)
{
    bool refused = true;
    struct fixture f;
    unsigned n;

    fixture_set_up(&f, NULL, secure);
    for (n = 1; refused; n++) {
        int error = echo(&f, secure, n, &refused);

        if (!refused)
            assert_int_equal(error, 0);
        assert_int_equal(echo(&f, secure, 0, &(bool){false}), 0);
    }
    assert_true(n > 5);
    fixture_tear_down(&f);
}

static void test_after_a_failed_allocation_the_next_client_is_served(void **state)
{
    (void)state;
    each_of_a_call(false);
    each_of_a_call(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_failed_allocation_for_a_token_is_an_error),
        cmocka_unit_test(test_a_failed_allocation_for_credentials_leaves_the_account_unchanged),
        cmocka_unit_test(test_a_failed_allocation_for_a_server_is_an_error),
        cmocka_unit_test(test_after_a_failed_allocation_the_next_client_is_served),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
