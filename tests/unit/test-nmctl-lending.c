/* SPDX-License-Identifier: Apache-2.0 */

/* What the nmctl program prints about lending to applications of YARN, from canned replies of nmd. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake-nmd.h"
#include "nmctl-run.h"
#include "util/macros.h"

#define HERE "container_1_0001_01_1099511627775"
#define LENT "container_1_0001_01_000007"
#define PLACEMENT \
    "{\"realtime_usec\":1000000,\"summary\":\"placed on n7:1, any\"," \
    "\"explanation\":\"It went to n7.\\nIt was number 1.\\n\"}"
#define LENDING(explanation) "{\"time_usec\":1000000,\"summary\":\"lent\",\"explanation\":\"" explanation "\"}"

/* The lent container may be on another node, and may have been placed by the ResourceManager. */
static void test_nmctl_explain_describes_what_was_lent(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/lending/" HERE " HTTP", OK(LENDING("It was lent.\\nIt runs.\\n")), NULL},
        {"GET /v1/placements/" HERE " HTTP", OK(PLACEMENT), NULL},
        {"GET /v1/containers/" HERE " HTTP", OK(RUNNING), NULL},
        {"GET /v1/containers/" HERE "/decisions",
         OK("{\"decisions\":[{\"number\":4,\"summary\":\"admitted\"}]}"), NULL},
        {"GET /v1/lending/" LENT " HTTP", OK(LENDING("It was lent elsewhere.\\n")), NULL},
        {"GET /v1/containers/" LENT " HTTP", REFUSED("404", "There is none."), NULL},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "explain", HERE);
    assert_int_equal(r.status, 0);
    nmctl_expect(r.out, "lending, 19");
    nmctl_expect(r.out, "\n  It was lent.\n  It runs.\n\nplacement, 19");
    nmctl_expect(r.out, "\n  It went to n7.\n  It was number 1.\n\ndecision 4, ");
    RUN(&r, "explain", LENT);
    assert_int_equal(r.status, 0);
    nmctl_expect(r.out, "\n  It was lent elsewhere.\n");
    RUN(&r, "explain", "--json", LENT);
    assert_int_equal(r.status, 0);
    nmctl_expect(r.out, "\"summary\": \"lent\"");
    fake_nmd_stop(&f);
}

#define YARN_STATUS(lending, pipelines) \
    OK("{\"node\":{\"state\":\"running\",\"backend\":\"direct\"},\"upstream\":{\"kind\":\"yarn\",\"state\":" \
       "\"running\",\"address\":\"rm:8031\",\"masters\":{\"address\":\"n1:8049\",\"attempts\":1,\"outstanding\":0," \
       "\"lending\":" lending ",\"pipelines\":[" pipelines "]}}}")

static void test_nmctl_status_shows_what_is_lent(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/status",
         YARN_STATUS("{\"lent\":3,\"lent_memory_bytes\":3221225472,\"queued\":1,\"asked\":4,\"wanted\":12,"
                     "\"promoted\":5,\"preempted\":2,\"observes\":false,\"oldest_usec\":84000000,\"queues\":["
                     "{\"queue\":\"root.b\\u001b\",\"applications\":2,\"lent\":3,\"lent_memory_bytes\":3221225472,"
                     "\"queued\":1,\"wanted\":12,\"promoted\":5,\"preempted\":2}],\"record\":null}",
                     "{\"attempt_id\":\"appattempt_1_0001_000001\",\"master_id\":\"container_1_0001_01_000001\","
                     "\"state\":\"running\",\"lending\":{\"rule\":\"overflow:30\",\"source\":\"user\","
                     "\"wish_invalid\":false,\"lent\":3,\"lent_memory_bytes\":3221225472,\"queued\":1,\"asked\":4,"
                     "\"wanted\":12,\"promoted\":5,\"preempted\":2,\"keys_total\":3,\"keys\":[{\"priority\":20,"
                     "\"wanted\":12,\"asked\":4,\"lent\":3,\"since_usec\":null,\"reason\":\"queued\","
                     "\"reason_text\":\"waits because so\"},{\"priority\":10,\"wanted\":0,\"asked\":0,\"lent\":1,"
                     "\"since_usec\":null,\"reason\":\"lent\",\"reason_text\":\"is\"}]}}"), NULL},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "status");
    assert_int_equal(r.status, 0);
    nmctl_expect(r.out,
                 "lending      3 lent with 3.0 GiB (1 in the queue of a node), 12 wanted of which 4 are asked for as "
                 "opportunistic, 5 promoted, 2 preempted\n"
                 "             oldest lent for 1m24s\n"
                 "             queue root.b?, 2 applications: 3 lent with 3.0 GiB (1 in the queue of a node), 12 "
                 "wanted, 5 promoted, 2 preempted\n"
                 "             appattempt_1_0001_000001, rule overflow:30 (from: user): 3 lent with 3.0 GiB (1 in the "
                 "queue of a node), 12 wanted of which 4 are asked for as opportunistic, 5 promoted, 2 preempted\n"
                 "               priority 20: 12 wanted, 4 asked for as opportunistic, 3 lent; 8 left: it waits "
                 "because so\n"
                 "               priority 10: 0 wanted, 0 asked for as opportunistic, 1 lent\n"
                 "               and 1 more priority (nmctl explain container_1_0001_01_000001)\n");
    fake_nmd_stop(&f);
}

static void test_nmctl_status_shows_what_would_be_lent(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/status",
         YARN_STATUS("{\"lent\":0,\"wanted\":3,\"observes\":true,\"observed\":31,"
                     "\"observed_memory_bytes\":66571993088,\"observed_memory_byte_seconds\":12582106693632,"
                     "\"oldest_usec\":null,\"queues\":[],\"record\":{\"memory_bytes\":2147483648,"
                     "\"within_usec\":600000000,\"starts\":420,\"exceeded\":3}}",
                     "{\"attempt_id\":\"appattempt_1_0001_000001\",\"master_id\":\"container_1_0001_01_000001\","
                     "\"state\":\"running\",\"lending\":{\"rule\":\"overflow:30\",\"source\":\"cluster\","
                     "\"wish_invalid\":false,\"lent\":0,\"wanted\":3,"
                     "\"keys_total\":1,\"keys\":[{\"priority\":20,\"wanted\":3,\"asked\":0,\"lent\":0,\"observed\":2,"
                     "\"since_usec\":null,\"reason\":\"no_room\",\"reason_text\":\"waits for a node\"}]}}"), NULL},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "status");
    assert_int_equal(r.status, 0);
    nmctl_expect(r.out,
                 "lending      observes only, 3 wanted\n"
                 "             would have lent 31 containers with 62.0 GiB, which then waited 3m09s more on "
                 "average\n"
                 "             risk by this node's last day: at least 0.7 % of containers with 2.0 GiB would have been "
                 "killed within 10m00s (3 of 420 starts)\n"
                 "             appattempt_1_0001_000001, rule overflow:30 (from: cluster): 0 lent with 0 B, 3 wanted, "
                 "0 promoted, 0 preempted\n"
                 "               priority 20: 3 wanted, 0 asked for as opportunistic, 0 lent; 2 would be lent; 1 "
                 "left: it waits for a node\n");
    fake_nmd_stop(&f);
}

static void test_nmctl_status_shows_a_master_that_registered_before(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/status",
         YARN_STATUS("{\"lent\":0,\"wanted\":3,\"observes\":false,\"oldest_usec\":null,\"queues\":[],\"record\":null}",
                     "{\"attempt_id\":\"appattempt_1_0001_000001\",\"master_id\":\"container_1_0001_01_000001\","
                     "\"state\":\"running\",\"lending\":{\"rule\":\"all\",\"source\":\"cluster\","
                     "\"wish_invalid\":false,\"registered_before\":true,\"lent\":0,\"wanted\":3,\"keys_total\":0,"
                     "\"keys\":[]}}"), NULL},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "status");
    assert_int_equal(r.status, 0);
    nmctl_expect(r.out, "appattempt_1_0001_000001, rule all (from: cluster, not applied: the master registered before "
                        "lending was enabled): 0 lent");
    fake_nmd_stop(&f);
}

/* Each reason is shown, also those of asks and applications that aren't. */
static void test_nmctl_status_shows_all_reasons(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/status",
         YARN_STATUS("{\"lent\":0,\"wanted\":30,\"observes\":false,\"oldest_usec\":null,\"held\":{\"lent\":5,"
                     "\"off\":3,\"label\":0,\"placement\":2,\"x\\u001b\":1},\"queues\":[],\"record\":null}",
                     "{\"attempt_id\":\"appattempt_1_0001_000001\",\"master_id\":\"container_1_0001_01_000001\","
                     "\"state\":\"running\",\"lending\":{\"rule\":\"off\",\"source\":\"types\","
                     "\"application_type\":\"Apache Flink\",\"wish_invalid\":false,\"lent\":0,\"wanted\":3,"
                     "\"keys_total\":0,\"keys\":[]}},"
                     "{\"attempt_id\":\"appattempt_1_0002_000001\",\"master_id\":\"container_1_0002_01_000001\","
                     "\"state\":\"running\",\"lending\":{\"rule\":\"all\",\"source\":\"no-type\",\"unsaved\":true,"
                     "\"application_type\":null,\"wish_invalid\":true,\"lent\":0,\"wanted\":3,"
                     "\"keys_total\":0,\"keys\":[]}}"), NULL},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "status");
    assert_int_equal(r.status, 0);
    nmctl_expect(r.out, "             not lent: 5 beyond the mode's share, 3 off, 2 placement, 1 x?\n"
                        "             appattempt_1_0001_000001, rule off (from: types, nmd.lending.types doesn't list "
                        "Apache Flink): 0 lent");
    nmctl_expect(r.out, "rule all (from: no-type, the application's type isn't known yet, NMD_LEND is invalid, not "
                        "applied: nmd can't save what it has lent): 0 lent");
    fake_nmd_stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nmctl_explain_describes_what_was_lent),
        cmocka_unit_test(test_nmctl_status_shows_what_is_lent),
        cmocka_unit_test(test_nmctl_status_shows_what_would_be_lent),
        cmocka_unit_test(test_nmctl_status_shows_a_master_that_registered_before),
        cmocka_unit_test(test_nmctl_status_shows_all_reasons),
    };

    (void)setenv("LC_ALL", "C", 1);
    (void)unsetenv("NMD_SOCKET");
    (void)unsetenv("COLUMNS");
    return cmocka_run_group_tests_name("nmctl-lending", tests, NULL, NULL);
}
