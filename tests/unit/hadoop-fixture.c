/* SPDX-License-Identifier: Apache-2.0 */

/* See hadoop-fixture.h. */

#include "hadoop-fixture.h"

#include <errno.h>
#include <sys/socket.h>

#include "rpc/hadoop/security.pb-c.h"
#include "util/clock.h"

const struct nm_token fixture_token = {
    .identifier = {(const uint8_t *)"who I am", 8},
    .password = {(const uint8_t *)"01234567890123456789", 20},
    .kind = {(const uint8_t *)"TestToken", 9},
};

static void note_caller(struct fixture *f, const struct nm_hadoop_call *call)
{
    (void)snprintf(f->last_user, sizeof f->last_user, "%s", nm_hadoop_call_user(call));
    f->last_identifier_size = nm_hadoop_call_identifier(call).size;
    f->last_context_size = nm_hadoop_call_context(call).size;
}

static void echo(struct nm_hadoop_call *call, void *userdata)
{
    struct fixture *f = userdata;

    note_caller(f, call);
    f->n_echoes++;
    nm_hadoop_call_answer(call, nm_hadoop_call_request(call));
}

static void hold(struct nm_hadoop_call *call, void *userdata)
{
    struct fixture *f = userdata;

    note_caller(f, call);
    assert_true(f->n_held < NM_ARRAY_SIZE(f->held));
    f->held[f->n_held++] = call;
}

static void refuse(struct nm_hadoop_call *call, void *userdata)
{
    const Hadoop__NodeId *request = (const Hadoop__NodeId *)nm_hadoop_call_request(call);
    struct nm_exception why;

    (void)userdata;
    nm_exception_set(&why, request->port, request->host, "refused, as was asked for");
    nm_hadoop_call_refuse(call, &why);
}

static const struct nm_hadoop_method methods[] = {
    {"echo", &hadoop__node_id__descriptor, echo},
    {"hold", &hadoop__node_id__descriptor, hold},
    {"refuse", &hadoop__node_id__descriptor, refuse},
};

static const struct nm_hadoop_protocol protocol = {FIXTURE_PROTOCOL, 1, methods, NM_ARRAY_SIZE(methods)};

static int lookup(void *userdata, struct nm_bytes id, struct nm_sasl_bearer *ret, struct nm_exception *why)
{
    (void)userdata;
    if (!nm_bytes_equal(id, fixture_token.identifier)) {
        nm_exception_set(why, NM_EXCEPTION_FATAL_UNAUTHORIZED, NM_EXCEPTION_INVALID_TOKEN, "nobody knows it");
        return -EKEYREJECTED;
    }
    (void)memcpy(ret->password, fixture_token.password.data, fixture_token.password.size);
    ret->password_size = fixture_token.password.size;
    (void)strcpy(ret->user, "bearer");
    return 0;
}

void fixture_set_up(struct fixture *f, const struct nm_hadoop_server_options *options, bool secure)
{
    struct nm_hadoop_server_options o = options ? *options : (struct nm_hadoop_server_options){};
    socklen_t size = sizeof f->address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *f = (struct fixture){.address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    assert_int_equal(bind(fd, (struct sockaddr *)&f->address, size), 0);
    assert_int_equal(listen(fd, 1024), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&f->address, &size), 0);
    assert_true(sd_event_new(&f->event) >= 0);
    o.protocols = &protocol;
    o.n_protocols = 1;
    o.userdata = f;
    o.lookup = secure ? lookup : NULL;
    assert_int_equal(nm_hadoop_server_new(f->event, fd, &o, &f->server), 0);
}

void fixture_tear_down(struct fixture *f)
{
    const struct nm_exception why = {.class_name = "test.Over"};

    while (f->n_held > 0)
        nm_hadoop_call_refuse(f->held[--f->n_held], &why);
    nm_hadoop_server_free(f->server);
    sd_event_unref(f->event);
}

static void run_once(struct fixture *f, uint64_t deadline)
{
    assert_true(nm_now_usec() < deadline);
    assert_true(sd_event_run(f->event, 100 * NM_USEC_PER_MSEC) >= 0);
}

void fixture_run_until(struct fixture *f, const unsigned *condition, unsigned value)
{
    uint64_t deadline = nm_now_usec() + 20 * NM_USEC_PER_SEC;

    while (*condition < value)
        run_once(f, deadline);
}

void fixture_run_until_gone(struct fixture *f)
{
    uint64_t deadline = nm_now_usec() + 20 * NM_USEC_PER_SEC;

    while (nm_hadoop_server_connections(f->server) > 0)
        run_once(f, deadline);
}

void fixture_run_ready(struct fixture *f)
{
    while (sd_event_run(f->event, 0) > 0)
        continue;
}

struct nm_hadoop_client *fixture_client(struct fixture *f, struct nm_hadoop_client_options *options)
{
    struct nm_hadoop_client *c;

    options->address = (const struct sockaddr *)&f->address;
    options->address_size = sizeof f->address;
    options->protocol = options->protocol ?: FIXTURE_PROTOCOL;
    options->version = options->version ?: 1;
    if (!options->token && !options->user)
        options->user = "tester";
    assert_int_equal(nm_hadoop_client_new(f->event, options, &c), 0);
    return c;
}

int fixture_connect(const struct fixture *f)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (const struct sockaddr *)&f->address, sizeof f->address), 0);
    return fd;
}

/* Reads size - 1 bytes at most, so that the NUL fits. */
size_t fixture_read_to_end(struct fixture *f, int fd, uint8_t *to, size_t size)
{
    uint64_t deadline = nm_now_usec() + 20 * NM_USEC_PER_SEC;
    size_t sum = 0;

    for (;;) {
        ssize_t n = recv(fd, to + sum, size - 1 - sum, MSG_DONTWAIT);

        if (n == 0 || (n < 0 && errno == ECONNRESET))
            break;
        if (n > 0)
            sum += (size_t)n;
        else
            run_once(f, deadline);
        assert_true(sum < size - 1);
    }
    to[sum] = '\0';
    return sum;
}
