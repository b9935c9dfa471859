/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/hadoop/digest.h"
#include "rpc/hadoop/writable.h"
#include "tests/unit/fail-nth.h"
#include "tests/unit/shuffle-service-fixture.h"
#include "util/fileio.h"

int try_program(struct fixture *w, const char *program, char **ret_message)
{
    const struct nm_yarn_shuffle_params params = {
        .event = w->event, .settings = w->settings, .program = program, .state_dir = w->state,
        .report_cb = aux_service_report};

    return nm_yarn_shuffle_new(&params, &w->shuffle, ret_message);
}

int try_service(struct fixture *w, char **ret_message)
{
    return try_program(w, "./nm-shuffle", ret_message);
}

void start_service(struct fixture *w)
{
    char *message = NULL;

    if (try_service(w, &message) < 0)
        fail_msg("%s", message ?: "no message");
}

struct nm_yarn_settings *read_settings(const struct fixture *w, unsigned port)
{
    char properties[200];

    (void)snprintf(properties, sizeof properties, PROPERTY("mapreduce.shuffle.port", "%u"), port);
    return aux_service_settings(w, properties);
}

int shuffle_service_set_up(void **state)
{
    struct fixture *w = aux_service_fixture_new(PROPERTY("mapreduce.shuffle.port", "0"));

    start_service(w);
    *state = w;
    return 0;
}

int shuffle_service_tear_down(void **state)
{
    struct fixture *w = *state;

    (void)nm_yarn_shuffle_free(w->shuffle);
    aux_service_fixture_free(w);
    return 0;
}

uint16_t port_of(const struct fixture *w)
{
    struct nm_bytes b = nm_yarn_shuffle_metadata(w->shuffle);

    assert_int_equal(b.size, 4);
    assert_int_equal(b.data[0], 0);
    assert_int_equal(b.data[1], 0);
    return (uint16_t)(b.data[2] << 8 | b.data[3]);
}

int request_status(const struct fixture *w, const char *key)
{
    static const char target[] = "/mapOutput?job=job_1700000000000_0001&reduce=0&"
                                 "map=attempt_1700000000000_0001_m_000000_0";
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port_of(w)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    uint8_t digest[NM_DIGEST_SIZE];
    char text[600], hash[40];
    int status = 0;
    ssize_t n;

    if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
        return 0;
    (void)snprintf(text, sizeof text, "%u%s", port_of(w), target);
    assert_int_equal(nm_digest_hmac((const uint8_t *)key, strlen(key), (const uint8_t *)text, strlen(text), digest), 0);
    nm_digest_text(digest, hash);
    (void)snprintf(text, sizeof text,
                   "GET %s HTTP/1.1\r\nHost: x\r\nname: mapreduce\r\nversion: 1.0.0\r\nUrlHash: %s\r\n\r\n", target,
                   hash);
    assert_int_equal(nm_write_all(fd, text, strlen(text)), 0);
    n = read(fd, text, sizeof text - 1);
    text[NM_MAX(n, 0)] = '\0';
    (void)sscanf(text, "HTTP/1.1 %d", &status);
    return status;
}

int add_job_of(struct fixture *w, const char *application, const char *user, const char *key)
{
    unsigned kinds = fail_pause();
    struct nm_writer token = {0};
    struct nm_bytes bytes;
    int r;

    nm_writer_bytes(&token, nm_bytes_of("\x15job_1700000000000_0001"));
    nm_writer_bytes(&token, nm_bytes_of(key));
    nm_writer_bytes(&token, nm_bytes_of("mapreduce.job"));
    nm_writer_bytes(&token, nm_bytes_of("job_1700000000000_0001"));
    assert_int_equal(nm_writer_result(&token, &bytes), 0);
    fail_resume(kinds);
    r = nm_yarn_shuffle_add(w->shuffle, "alice", user, application, bytes);
    nm_writer_done(&token);
    return r;
}

int add_job(struct fixture *w, const char *user, const char *key)
{
    return add_job_of(w, APPLICATION, user, key);
}
