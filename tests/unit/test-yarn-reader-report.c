/* SPDX-License-Identifier: Apache-2.0 */

/* The sentences about slow clients of a shuffle service, and about what an application was sent. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/clock.h"
#include "yarn/launch/reader-report.h"

#define START_USEC (1000 * NM_USEC_PER_SEC)

static struct nm_yarn_reader_report report;
static char sentence[NM_YARN_READER_REPORT_SIZE];

static int set_up(void **state)
{
    (void)state;
    report = (struct nm_yarn_reader_report){};
    return 0;
}

/* What the process counts, with two applications. */
static enum nm_yarn_reader_event see(uint64_t stalled, uint64_t slow, uint64_t now_usec)
{
    const struct nm_yarn_shuffle_figures figures = {.stalled = stalled, .slow = slow};
    const struct nm_yarn_shuffle_usage top[] = {{.application = "app_1", .stalled = stalled, .slow = slow},
                                                {.application = "app_2"}};

    *sentence = '\0';
    return nm_yarn_reader_report(&report, "server", &figures, top, 2, now_usec, sentence);
}

static void test_slow_clients_are_reported_once_and_at_their_end(void **state)
{
    (void)state;
    assert_int_equal(see(0, 0, START_USEC), NM_YARN_READER_NO_EVENT);
    assert_string_equal(sentence, "");
    assert_int_equal(see(2, 0, START_USEC), NM_YARN_READER_SLOW);
    assert_string_equal(sentence, "2 clients of server have read nothing for 10 s (app_1 has 2)");
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(see(2 + i, i, START_USEC + i * 5 * NM_USEC_PER_SEC), NM_YARN_READER_NO_EVENT);
    assert_int_equal(see(0, 100, START_USEC + 500 * NM_USEC_PER_SEC), NM_YARN_READER_OK);
    assert_string_equal(sentence, "server has no slow clients any more; it has disconnected 100 since then");
    assert_int_equal(see(0, 100, START_USEC + 600 * NM_USEC_PER_SEC), NM_YARN_READER_NO_EVENT);
}

static void test_reports_have_a_rate(void **state)
{
    unsigned n = 0;

    (void)state;
    for (unsigned i = 0; i < 120; i++) /* ten minutes in which clients pause all the time */
        n += see(i % 2, i, START_USEC + i * 5 * NM_USEC_PER_SEC) != NM_YARN_READER_NO_EVENT;
    assert_in_range(n, 10, 20);
}

static void test_disconnected_clients_are_reported(void **state)
{
    (void)state;
    assert_int_equal(see(0, 1, START_USEC), NM_YARN_READER_DISCONNECTED);
    assert_string_equal(sentence, "server has disconnected 1 client, which read too slowly (app_1 has 1)");
    assert_int_equal(see(0, 3, START_USEC + NM_USEC_PER_SEC), NM_YARN_READER_NO_EVENT);
    assert_int_equal(see(0, 3, START_USEC + NM_YARN_READER_REPORT_USEC), NM_YARN_READER_DISCONNECTED);
    assert_string_equal(sentence, "server has disconnected 2 clients, which read too slowly (app_1 has 3)");
}

static void test_many_applications_fit(void **state)
{
    struct nm_yarn_shuffle_usage top[NM_YARN_SHUFFLE_TOP_MAX];
    const struct nm_yarn_shuffle_figures figures = {.stalled = UINT64_MAX};

    (void)state;
    for (unsigned i = 0; i < NM_YARN_SHUFFLE_TOP_MAX; i++) {
        top[i] = (struct nm_yarn_shuffle_usage){.stalled = UINT64_MAX};
        memset(top[i].application, 'x', sizeof top[i].application - 1);
    }
    assert_int_equal(nm_yarn_reader_report(&report, "nm-spark-shuffle", &figures, top, NM_YARN_SHUFFLE_TOP_MAX,
                                           START_USEC, sentence), NM_YARN_READER_SLOW);
    assert_int_equal(sentence[strlen(sentence) - 1], ')');
}

static void test_the_total_of_an_application_is_described(void **state)
{
    struct nm_yarn_shuffle_usage u = {.application = "app_1", .connections = 1, .streams = 1};

    (void)state;
    assert_false(nm_yarn_reader_total("server", &u, sentence)); /* most applications don't use the service */
    u.outputs_ok = 3;
    u.outputs_failed = 2;
    u.sent_bytes = 2048;
    u.slow = 1;
    assert_true(nm_yarn_reader_total("server", &u, sentence));
    assert_string_equal(sentence, "app_1 has ended: server has sent 3 blocks of it (2.0 KiB), 2 failed, and 1 slow "
                        "reader was disconnected");
}

#define TEST(f) cmocka_unit_test_setup(f, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_slow_clients_are_reported_once_and_at_their_end),
        TEST(test_reports_have_a_rate),
        TEST(test_disconnected_clients_are_reported),
        TEST(test_many_applications_fit),
        TEST(test_the_total_of_an_application_is_described),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
