/* SPDX-License-Identifier: Apache-2.0 */

/* A client that can't allocate memory for a request must send no request, rather than a wrong request. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <jansson.h>

#include "fail-nth.h"
#include "rpc/local/messages.h"

static const struct nm_submit submission = {
    .argv = (const char *const[]){"sh", "-c", "exit \xff", NULL},
    .env = (const char *const[]){"A=1", "B", "C=\xff", NULL},
    .name = "web", .app = "shop", .workdir = "/", .user = "alice", .memory_bytes = 1, .vcores_milli = 1500,
    .min_runtime_usec = 1, .expected_usec = 1, .rows = 24, .columns = 80,
    .replace = true, .exempt = true, .allow_new_privs = true,
};

static void test_a_submission_is_not_sent_if_memory_is_missing(void **state)
{
    json_t *complete = nm_messages_submit(&submission);
    bool refused = true;

    (void)state;
    for (unsigned n = 1; refused; n++) {
        json_t *made;

        fail_nth(FAIL_MEMORY, n);
        made = nm_messages_submit(&submission);
        refused = fail_stop();

        assert_true(made || refused);
        if (made)
            assert_true(json_equal(made, complete));
        json_decref(made);
    }
    json_decref(complete);
}

static void test_a_submission_is_parsed_as_it_was_written(void **state)
{
    json_t *j = nm_messages_submit(&submission);
    struct nm_messages_submit got;
    struct nm_problem problem;

    (void)state;
    assert_int_equal(nm_messages_parse_submit(j, &got, &problem), 0);
    json_decref(j);
    /* a byte that isn't UTF-8 is replaced by a replacement character */
    assert_string_equal(got.submit.argv[2], "exit \xef\xbf\xbd");
    assert_string_equal(got.submit.env[1], "B=");
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
