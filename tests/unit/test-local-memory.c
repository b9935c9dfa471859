/* SPDX-License-Identifier: Apache-2.0 */

/* The HTTP server handles requests while one allocation or one call for a descriptor fails, another one in each
 * attempt. The server leaks neither memory nor descriptors, and serves the next client. */

#include <sys/stat.h>

#include "refused-requests.h"

static void test_after_each_failed_call_of_a_request_the_next_client_is_served(void **state)
{
    static const struct request all[] = {
        {"GET", "/v1/version", NULL, 200, NULL, false},
        {"GET", "/v1/status", NULL, 200, NULL, false},
        {"GET", "/v1/config", NULL, 200, NULL, false},
        {"GET", "/v1/openapi.json", NULL, 200, NULL, false},
        {"GET", "/", NULL, 200, NULL, false},
        {"GET", "/healthz", NULL, 200, NULL, false},
        {"GET", "/metrics", NULL, 200, NULL, false},
        {"GET", "/v1/placements/container_1", NULL, 200, NULL, false},
        {"GET", "/v1/decisions", NULL, 200, NULL, false},
        {"GET", "/v1/containers?all=true&limit=1", NULL, 200, NULL, false},
        {"GET", "/v1/containers/web", NULL, 200, NULL, false},
        {"GET", "/v1/nowhere", NULL, 404, NULL, false},
        {"GET", "/ws/v1/nowhere", NULL, 404, NULL, false},
        {"POST", "/v1/containers/web/kill", "{\"now\":tru", 400, NULL, false},
        {"POST", "/v1/containers", "{\"command\":[1]}", 400, NULL, false},
        {"POST", "/v1/containers", "{\"command\":[\"true\"],\"env\":{\"A\":\"1\",\"B\":2}}", 400, NULL, false},
        {"POST", "/v1/containers", "{\"command\":[\"true\"],\"env\":{\"A\":\"1\"},\"vcores\":1}", 201, NULL, false},
        {"POST", "/v1/containers", "{\"command\":[\"true\"],\"rows\":1,\"columns\":1}", 101, "nm-session", false},
        {"POST", "/v1/containers", "{\"command\":[\"true\"],\"name\":\"web\",\"replace\":true}", 201, NULL, true},
        {"POST", "/v1/containers/web/exec", "{\"command\":[\"ls\"],\"env\":{\"A\":\"1\"}}", 101, "nm-session", false},
        {"POST", "/v1/containers/web/pause", NULL, 200, NULL, false},
        {"PATCH", "/v1/containers/web", "{\"vcores\":1}", 200, NULL, false},
        {"DELETE", "/v1/containers/web", NULL, 200, NULL, false},
        {"POST", "/v1/containers/web/remove", NULL, 200, NULL, false},
        {"POST", "/v1/undrain", "{}", 200, NULL, false},
        {"POST", "/v1/drain", "{\"kill_opportunistic\":true}", 200, NULL, false},
    };
    struct fixture *f = *state;

    add_one_of_each(f);
    start(f, NULL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++)
        assert_true(each_refusal(f, &all[i], false) >= 5);
}

/* If the answer to a drain is complete, the answer names the queued container. */
static void test_a_drain_names_the_queued_container(void **state)
{
    static const struct request drain = {"POST", "/v1/drain", "{}", 200, NULL, false};
    struct fixture *f = *state;

    add_one_of_each(f);
    f->m->status.queue_reason = NM_REASON_BEHIND_OTHERS;
    start(f, NULL);
    for (unsigned n = 1; n <= 300; n++) {
        _cleanup_free_ char *got = NULL;

        f->m->containers[0]->view.state = NM_SCHEDULED;
        got = request_with_refusal(f, &drain, n, &(bool){false});
        if (got)
            assert_non_null(strstr(got, "{\"count\":1,\"containers\":[{\"id\":\"container_1_000001\""));
    }
}

static void test_after_each_failed_call_of_a_stream_the_next_client_is_served(void **state)
{
    static const struct request all[] = {
        {"GET", "/v1/events", NULL, 200, NULL, false},
        {"GET", "/v1/events?after=1", NULL, 200, NULL, false},
        {"GET", "/v1/containers/web/wait", NULL, 200, NULL, true},
        {"GET", "/v1/history", NULL, 200, NULL, false},
        {"GET", "/v1/containers/web/logs", NULL, 200, NULL, false},
        {"GET", "/v1/containers/web/logs?tail=1", NULL, 200, NULL, false},
        {"GET", "/v1/containers/web/logs?timestamps=true", NULL, 200, NULL, false},
        {"GET", "/v1/containers/web/logs?from=4&follow=true", NULL, 200, NULL, true},
        {"GET", "/v1/containers/web/logs?from=4&follow=true&timestamps=true", NULL, 200, NULL, true},
    };
    struct fixture *f = *state;

    add_one_of_each(f);
    start(f, NULL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++)
        assert_true(each_refusal(f, &all[i], !strstr(all[i].target, "/wait")) >= 5);
}

/* Each allocation of a followed stream fails once. The stream is then cut off, or later output still arrives. */
static void test_after_a_failed_call_a_followed_log_continues_or_is_cut_off(void **state)
{
    static const struct request a = {"GET", "/v1/containers/web/logs?follow=true", NULL, 200, NULL, false};
    struct fixture *f = *state;
    struct nm_container *con;
    bool refused = true;

    add_one_of_each(f);
    con = f->m->containers[0];
    start(f, NULL);
    for (unsigned n = 1; refused; n++) {
        struct client c;
        char path[256];
        unsigned kinds;

        (void)snprintf(path, sizeof path, "%s/%s.stdout", f->dir, con->id);
        assert_int_equal(truncate(path, 8), 0);
        send_request(f, &c, &a);
        fail_nth(ALL_KINDS, n);
        kinds = fail_pause();
        until(&c, turn_with_failures(&c, kinds) == 0 && (c.eof || strstr(c.data, "two\n")));
        refused = fail_stop();
        append_log(f, con, "three\n");
        until(&c, c.eof || strstr(c.data, "three\n"));
        assert_true(refused || !c.eof);
        client_close(&c);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_after_each_failed_call_of_a_request_the_next_client_is_served),
        TEST(test_a_drain_names_the_queued_container),
        TEST(test_after_each_failed_call_of_a_stream_the_next_client_is_served),
        TEST(test_after_a_failed_call_a_followed_log_continues_or_is_cut_off),
    };

    json_set_alloc_funcs(malloc, free); /* malloc() and free() are wrapped in this test and can fail */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
