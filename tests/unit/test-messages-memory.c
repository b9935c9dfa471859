/* SPDX-License-Identifier: Apache-2.0 */

/* A client that can't allocate memory for a request must send no request, rather than a wrong request. The same request
 * is complete if memory suffices. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <jansson.h>

#include "fail-nth.h"
#include "rpc/local/client/request-body.h"
#include "rpc/local/messages.h"

static const struct nm_client_submit submission = {
    .command = {.argv = (const char *const[]){"sh", "-c", "exit 1", NULL},
                .env = (const char *const[]){"A=1", "B="}, .n_env = 2, .term = "xterm", .rows = 24, .columns = 80},
    .name = "web", .app = "shop", .workdir = "/", .user = "alice", .memory_bytes = 1, .vcores_milli = 1500,
    .min_runtime_usec = 1, .expected_usec = 1, .replace = true, .exempt = true, .allow_new_privs = true,
};

static void test_a_submission_is_not_sent_if_memory_is_missing(void **state)
{
    struct nm_client_bad_string bad;
    bool refused = true;
    char *complete;

    (void)state;
    assert_int_equal(nm_client_submit_body(&submission, &complete, &bad), 0);
    for (unsigned n = 1; refused; n++) {
        char *made = NULL;
        int r;

        fail_nth(FAIL_MEMORY, n);
        r = nm_client_submit_body(&submission, &made, &bad);
        refused = fail_stop();

        assert_true(r == 0 || refused);
        if (r == 0)
            assert_string_equal(made, complete);
        free(made);
    }
    free(complete);
}

static void test_a_submission_is_parsed_as_it_was_written(void **state)
{
    struct nm_client_bad_string bad;
    struct nm_messages_submit got;
    struct nm_problem problem;
    char *text;
    json_t *j;

    (void)state;
    assert_int_equal(nm_client_submit_body(&submission, &text, &bad), 0);
    assert_int_equal(nm_messages_parse_body(text, strlen(text), &j, &problem), 0);
    free(text);
    assert_int_equal(nm_messages_parse_submit(j, &got, &problem), 0);
    json_decref(j);
    assert_string_equal(got.submit.argv[2], "exit 1");
    assert_string_equal(got.submit.env[2], "B=");
    assert_string_equal(got.submit.user, "alice");
    assert_int_equal(got.submit.vcores_milli, 1500);
    assert_int_equal(got.submit.columns, 80);
    assert_true(got.submit.replace && got.submit.exempt && got.submit.allow_new_privs);
    nm_messages_submit_done(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_submission_is_not_sent_if_memory_is_missing),
        cmocka_unit_test(test_a_submission_is_parsed_as_it_was_written),
    };

    json_set_alloc_funcs(malloc, free); /* these allocation functions of the test fail */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
