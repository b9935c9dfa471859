/* SPDX-License-Identifier: Apache-2.0 */

/* The nmctl program against canned replies, as in test-nmctl.c: the names of container states and results, waiting,
 * logs of an nmd that ends, and completion of values that nmd supplies. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "nmctl-run.h"
#include "nmctl/progress.h"
#include "nmctl/message.h"
#include "util/clock.h"
#include "util/macros.h"

/* ---- one name for each state ------------------------------------------------------------------ */

#define ONE(number, name, state, text, rest)                                                        \
    "{\"id\":\"container_1_" number "\",\"number\":" number ",\"name\":\"" name "\",\"state\":\"" state      \
    "\",\"state_text\":\"" text "\",\"execution_type\":\"OPPORTUNISTIC\"" rest "}"
#define ALL                                                                                         \
    "[" ONE("1", "waits", "SCHEDULED", "QUEUED", ",\"queue_position\":2") ","                             \
    ONE("2", "good", "COMPLETED", "Succeeded", ",\"exit_reason\":\"exited\",\"exit_code\":0") ","         \
    ONE("3", "bad", "COMPLETED", "Failed (3)", ",\"exit_reason\":\"exited\",\"exit_code\":3") ","         \
    ONE("4", "taken", "COMPLETED", "Killed (preempted)", ",\"exit_reason\":\"preempted\"") ","            \
    ONE("5", "dying", "KILLING", "KILLING", "") "]"

/* Checks which containers `list -q --state WORD` prints for each word. */
static void test_each_word_of_list_state_selects_the_right_states(void **state)
{
    static const struct {
        const char *word, *ids;
    } cases[] = {
        {"queued", "container_1_1\n"},    {"SCHEDULED", "container_1_1\n"},
        {"succeeded", "container_1_2\n"}, {"failed", "container_1_3\n"},
        {"killed", "container_1_4\n"},    {"killing", "container_1_5\n"},
        {"ended", "container_1_2\ncontainer_1_3\ncontainer_1_4\n"},
        {"completed", "container_1_2\ncontainer_1_3\ncontainer_1_4\n"},
        {"running", ""},
    };
    static const struct fake_exchange x[] = {
        {"GET /v1/containers?all=true&limit=250&after=0 HTTP", OK(ALL), NULL},
        {"GET /v1/containers?limit=250&after=0 HTTP",
         OK("[" ONE("1", "waits", "SCHEDULED", "QUEUED", "") ","
            ONE("5", "dying", "KILLING", "KILLING", "") "]"), NULL},
        {"GET /v1/containers/old HTTP",
         OK("{\"id\":\"container_1_9\",\"state\":\"COMPLETED\",\"exit_reason\":\"shed\"}"), NULL},
        {"GET /v1/events HTTP",
         OK("{\"number\":1,\"kind\":\"state\",\"container_id\":\"container_1_4\",\"from\":\"SCHEDULED\","
            "\"to\":\"COMPLETED\",\"text\":\"drained\"}\n"), NULL},
    };
    struct nmctl_result r;
    struct fake_nmd f;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "list", "--all");
    nmctl_expect(r.out, "opportunistic  QUEUED #2 ");
    nmctl_expect(r.out, "opportunistic  Succeeded ");
    nmctl_expect(r.out, "opportunistic  Failed (3) ");
    nmctl_expect(r.out, "opportunistic  Killed (preempted) ");
    assert_null(strstr(r.out, "COMPLETED"));
    assert_null(strstr(r.out, "SCHEDULED"));
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        RUN(&r, "list", "-q", "--state", cases[i].word);
        assert_int_equal(r.status, 0);
        assert_string_equal(r.out, cases[i].ids);
    }
    RUN(&r, "show", "old"); /* an older nmd sends no state_text */
    nmctl_expect(r.out, "state       ENDED (shed)\n");
    RUN(&r, "events");
    nmctl_expect(r.out, "  container_1_4  QUEUED -> ENDED: drained\n");
    fake_nmd_stop(&f);
}

/* ---- waiting -------------------------------------------------------------------------------- */

#define STATUS \
    OK("{\"node\":{\"utilization\":{\"memory\":0.82,\"cpu\":0.1}," \
       "\"over_allocation_threshold\":{\"memory\":0.8,\"cpu\":0.8}}}")

/* nmctl wait prints which container it waits for and why, and exits at its deadline. */
static void test_nmctl_wait_exits_at_its_deadline(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/status HTTP", STATUS, NULL},
        {"GET /v1/containers/web HTTP", OK(QUEUED), NULL},
        {"GET /v1/containers/runs HTTP", OK(RUNNING_AS("container_1_7")), NULL},
        {"GET /v1/containers/container_1_7 HTTP", OK(RUNNING_AS("container_1_7")), NULL},
        {"GET /v1/containers/" ID " HTTP", OK(QUEUED), NULL},
        {"GET /v1/containers/", NULL, NULL}, /* the reply that the container has ended */
    };
    struct nmctl_result r;
    struct fake_nmd f;
    uint64_t begun = nm_now_usec();

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "wait", "--timeout", "800ms", "web", "runs");
    assert_int_equal(r.status, 124);
    assert_true(nm_now_usec() - begun >= 800 * NM_USEC_PER_MSEC);
    assert_string_equal(r.out, "");
    nmctl_expect(r.err, "nmctl: waiting for " ID ", which is queued at position 2: ");
    nmctl_expect(r.err, "nmctl: " ID " has not ended in time: it is QUEUED, and continues. 'nmctl explain " ID
                        "' shows why");
    /* The timeout applies to the wait for both containers together. */
    nmctl_expect(r.err, "nmctl: container_1_7 (web) has not ended in time: it is RUNNING, and continues.");
    RUN(&r, "wait", "-t", "800ms", "runs");
    nmctl_expect(r.err, "nmctl: waiting for container_1_7 (web), which is RUNNING, for ");
    fake_nmd_stop(&f);
}

/* Without a terminal, nmctl prints the line immediately when the line changes. It repeats the line every ten seconds
 * while the container is queued, and otherwise once per minute. With JSON output, nmctl prints no such lines. */
static void test_nmctl_wait_repeats_its_progress_line(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/status HTTP", STATUS, NULL},
        {"GET /v1/containers/web HTTP", OK(QUEUED), NULL},
        {"GET /v1/containers/queued HTTP", OK(QUEUED), NULL},
        {"GET /v1/containers/" ID " HTTP", OK(QUEUED), NULL},
        {"GET /v1/containers/runs HTTP", OK(RUNNING_AS("container_1_7")), NULL},
        {"GET /v1/containers/killed HTTP", OK("{\"id\":\"container_1_7\",\"state\":\"KILLING\"}"), NULL},
        {"GET /v1/containers/paused HTTP", OK("{\"id\":\"container_1_7\",\"state\":\"PAUSED\"}"), NULL},
        {"GET /v1/containers/", NULL, NULL}, /* the reply that the container has ended */
    };
    static const struct {
        const char *id, *printed;
        uint64_t later_usec;
    } looks[] = {
        {"queued", "nmctl: waiting for " ID ", which is queued at position 2: 82 % of", 0},
        {"queued", "", 9 * NM_USEC_PER_SEC},
        {"queued", "nmctl: still waiting for " ID ", which has been queued for ", 10 * NM_USEC_PER_SEC},
        {"queued", "", 0},
        {"runs", "nmctl: RUNNING, for ", 0},
        {"runs", "", 59 * NM_USEC_PER_SEC},
        {"runs", "nmctl: still waiting for container_1_7 (web), which is RUNNING, for ", 60 * NM_USEC_PER_SEC},
        {"paused", "nmctl: paused; 'nmctl explain ", 0},
        {"runs", "nmctl: resumed\n", 0},
        {"killed", "nmctl: being killed, and has not ended yet\n", 0},
    };
    struct nm_progress n;
    struct nm_ctl ctl = {0};
    struct nmctl_result r;
    struct fake_nmd f;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    ctl.socket_path = f.path;
    nm_progress_init(&n, true);
    for (size_t i = 0; i < NM_ARRAY_SIZE(looks); i++) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        FILE *printed = open_memstream(&text, &size);

        n.printed_usec = nm_now_usec() - looks[i].later_usec;
        nm_message_set_stream(printed, 0);
        nm_progress_poll(&n, &ctl, looks[i].id);
        nm_message_set_stream(NULL, 0);
        assert_int_equal(fclose(printed), 0);
        if (*looks[i].printed)
            nmctl_expect(text, looks[i].printed);
        else
            assert_string_equal(text, "");
        assert_true(nm_progress_next(&n) <= nm_now_usec() + 2 * NM_USEC_PER_SEC);
    }
    RUN(&r, "wait", "--json", "--timeout", "500ms", "web");
    assert_null(strstr(r.err, "waiting for"));
    fake_nmd_stop(&f);
}

/* A container that no round of the policy has considered has no queue reason. After two seconds nmctl run reports this
 * container as queued anyway, and then repeats the line every ten seconds. */
static void test_nmctl_run_reports_a_queued_container_without_a_reason(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/status HTTP", STATUS, NULL},
        {"GET /v1/containers/new HTTP", OK("{\"id\":\"" ID "\",\"state\":\"SCHEDULED\",\"queue_position\":1}"), NULL},
    };
    static const struct {
        uint64_t begun_usec, later_usec;
        const char *printed;
    } looks[] = {
        {0, 0, ""},
        {2 * NM_USEC_PER_SEC, 0, "nmctl: queued at position 1\n"},
        {2 * NM_USEC_PER_SEC, 9 * NM_USEC_PER_SEC, ""},
        {2 * NM_USEC_PER_SEC, 10 * NM_USEC_PER_SEC, "nmctl: queued for "},
    };
    struct nm_progress n;
    struct nm_ctl ctl = {0};
    struct fake_nmd f;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    ctl.socket_path = f.path;
    nm_progress_init(&n, false);
    for (size_t i = 0; i < NM_ARRAY_SIZE(looks); i++) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        FILE *printed = open_memstream(&text, &size);

        n.begun_usec = nm_now_usec() - looks[i].begun_usec;
        n.printed_usec = nm_now_usec() - looks[i].later_usec;
        nm_message_set_stream(printed, 0);
        nm_progress_poll(&n, &ctl, "new");
        nm_message_set_stream(NULL, 0);
        assert_int_equal(fclose(printed), 0);
        if (*looks[i].printed)
            nmctl_expect(text, looks[i].printed);
        else
            assert_string_equal(text, "");
    }
    fake_nmd_stop(&f);
}

/* nmctl wait prints the result of each container, also if a container's exit status equals the exit status that nmctl
 * uses for an unreachable nmd. */
static void test_nmctl_wait_prints_the_result_of_each_container(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/containers/three HTTP", OK(ENDED_AS("3", "exited", "Failed (3)")), NULL},
        {"GET /v1/containers/good HTTP", OK(RUNNING), NULL},
        {"GET /v1/containers/" ID "/wait HTTP", OK(ENDED_AS("0", "exited", "Succeeded")), NULL},
        {"GET /v1/containers/gone HTTP", REFUSED("404", "There is none."), NULL},
    };
    struct nmctl_result r;
    struct fake_nmd f;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "wait", "three", "good");
    assert_int_equal(r.status, 3);
    assert_string_equal(r.out, ID " exited with status 3\n" ID " exited with status 0\n");
    assert_string_equal(r.err, "");
    RUN(&r, "wait", "good");
    assert_int_equal(r.status, 0);
    RUN(&r, "wait", "--json", "three");
    nmctl_expect(r.out, "\"exit_code\":3");
    RUN(&r, "wait", "gone", "good");
    assert_int_equal(r.status, 1);
    assert_string_equal(r.err, "nmctl: There is none.\n");
    nmctl_expect(r.out, "exited with status 0");
    fake_nmd_stop(&f);
}

/* An nmd that hangs delays neither nmctl's deadline nor its exit status. This holds before and after nmctl has received
 * the container's id. */
static void test_an_nmd_that_hangs_does_not_delay_the_deadline_of_nmctl(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/containers/runs HTTP", OK(RUNNING_AS("container_1_7")), NULL},
        {"GET /v1/containers/", NULL, NULL},
    };
    struct nmctl_result r;
    struct fake_nmd f;
    uint64_t begun = nm_now_usec();

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "wait", "--timeout", "1500ms", "hangs", "too");
    assert_int_equal(r.status, 124);
    assert_true(nm_now_usec() - begun >= 1500 * NM_USEC_PER_MSEC);
    assert_true(nm_now_usec() - begun < 4 * NM_USEC_PER_SEC);
    nmctl_expect(r.err, " has not answered in time: whether hangs has ended is not known\n");
    nmctl_expect(r.err, "whether too has ended is not known\n");
    begun = nm_now_usec();
    RUN(&r, "wait", "--timeout", "1500ms", "runs", "runs");
    assert_int_equal(r.status, 124);
    assert_true(nm_now_usec() - begun >= 1500 * NM_USEC_PER_MSEC);
    assert_true(nm_now_usec() - begun < 5 * NM_USEC_PER_SEC);
    nmctl_expect(r.err, "container_1_7 (web) has not ended in time, as far as nmctl knows: it was RUNNING when nmd "
                        "answered last.");
    fake_nmd_stop(&f);
}

/* nmctl reports a name that doesn't exist before it waits for the other containers. It reports the result of each
 * container as soon as the container has ended. */
static void test_nmctl_wait_reports_an_unknown_name_first(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/containers/runs HTTP", OK(RUNNING_AS("container_1_7")), NULL},
        {"GET /v1/containers/container_1_7 HTTP", OK(RUNNING_AS("container_1_7")), NULL},
        {"GET /v1/containers/good HTTP", OK(RUNNING), NULL},
        {"GET /v1/containers/" ID "/wait HTTP", OK(ENDED_AS("0", "exited", "Succeeded")), NULL},
        {"GET /v1/containers/typo HTTP", REFUSED("404", "There is none."), NULL},
        {"GET /v1/containers/", NULL, NULL},
    };
    const char *const argv[] = {"nmctl", "wait", "--timeout", "3s", "runs", "runs", "runs", "good", "typo", NULL};
    struct nmctl_started s;
    struct nmctl_result r;
    struct fake_nmd f;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    nmctl_start(&s, argv);
    nmctl_await(s.err, "nmctl: There is none.\n");
    nmctl_await(s.out, ID " exited with status 0\n");
    nmctl_await(s.err, "nmctl: waiting for container_1_7 (web), which is RUNNING, for ");
    nmctl_await(s.err, " so far; and for 2 more\n");
    nmctl_finish(&s, &r);
    assert_int_equal(r.status, 124); /* the exit status is that of the first failed container of the command line */
    assert_true(strstr(r.err, "There is none.") < strstr(r.err, "waiting for"));
    assert_null(strstr(strstr(r.err, "There is none.") + 1, "There is none."));
    fake_nmd_stop(&f);
}

/* nmctl reports once a minute that nmd hangs, and reports the next answer of nmd. */
static void test_nmctl_wait_reports_that_nmd_hangs(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/containers/runs HTTP", OK(RUNNING_AS("container_1_7")), NULL},
        {"GET /v1/containers/ended HTTP", OK(ENDED_AS("0", "exited", "Succeeded")), NULL},
        {"GET /v1/containers/", NULL, NULL},
    };
    static const struct {
        const char *id, *printed;
        uint64_t silent_usec, later_usec;
    } looks[] = {
        {"runs", "nmctl: waiting for container_1_7 (web), which is RUNNING, for ", 0, 0},
        {"hangs", "", 0, 0},
        {"hangs", "nmctl: waiting for container_1_7 (web) and 2 more; nmd has not answered for 9s\n",
         9 * NM_USEC_PER_SEC, 0},
        {"hangs", "", 19 * NM_USEC_PER_SEC, 10 * NM_USEC_PER_SEC},
        {"hangs", "nmd has not answered for 1m10s\n", 70 * NM_USEC_PER_SEC, 60 * NM_USEC_PER_SEC},
        {"runs", "nmctl: nmd answers again\n", 0, 0},
        {"runs", "", 0, 0},
        {"ended", "", 0, 60 * NM_USEC_PER_SEC}, /* another message reports the result of the container */
    };
    struct nm_progress n;
    struct nm_ctl ctl = {0};
    struct fake_nmd f;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    ctl.socket_path = f.path;
    nm_progress_init(&n, true);
    n.others = 2;
    for (size_t i = 0; i < NM_ARRAY_SIZE(looks); i++) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        FILE *printed = open_memstream(&text, &size);

        n.printed_usec = nm_now_usec() - looks[i].later_usec;
        n.answered_usec = nm_now_usec() - looks[i].silent_usec;
        /* a request to nmd ends at this deadline at the latest */
        n.deadline_usec = nm_now_usec() + 50 * NM_USEC_PER_MSEC;
        if (looks[i].id[0] != 'h')
            n.deadline_usec = UINT64_MAX;
        nm_message_set_stream(printed, 0);
        nm_progress_poll(&n, &ctl, looks[i].id);
        nm_message_set_stream(NULL, 0);
        assert_true(n.deadline_usec == UINT64_MAX || nm_now_usec() < n.deadline_usec + 900 * NM_USEC_PER_MSEC);
        assert_int_equal(fclose(printed), 0);
        if (*looks[i].printed)
            nmctl_expect(text, looks[i].printed);
        else
            assert_string_equal(text, "");
    }
    fake_nmd_stop(&f);
}

/* ---- logs ------------------------------------------------------------------------------------- */

#define LOG "GET /v1/containers/web/logs?stream=stdout&follow=true&timestamps=true"
#define TIME(digit) "2026-11-24T18:17:5" digit ".123Z "
/* A reply that ends before its announced length, because nmd was killed. */
#define BROKEN(headers, body) "HTTP/1.1 200 OK\r\n" headers "Content-Length: 1000\r\n\r\n" body

/* nmd dies within a time, after a time, within a line, and after a line. Each new nmd repeats the time of a line of
 * which no output was received. Once, the log was cut in the meantime, and begins with a line that nmd inserts. */
static void test_logs_with_times_continue_at_the_same_byte_after_a_reconnect(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/containers/web/wait HTTP", OK(ENDED("0", "exited")), NULL},
        {LOG " HTTP", BROKEN("", TIME("1") "one\n2026-11"), NULL},
        {LOG "&from=4 HTTP", BROKEN("", TIME("2") "two\n" TIME("3")), NULL},
        {LOG "&from=8 HTTP", BROKEN("", TIME("3") "th"), NULL},
        {LOG "&from=10 HTTP", BROKEN("", "ree\n"), NULL},
        {LOG "&from=14 HTTP", BROKEN("Nmd-Log-Position: 90\r\n", TIME("4") "[cut]\n2026"), NULL},
        {LOG "&from=96 HTTP", OK(TIME("5") "five\n"), NULL},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "logs", "--follow", "--timestamps", "--stdout", "web");
    assert_string_equal(r.out, TIME("1") "one\n" TIME("2") "two\n" TIME("3") "three\n" TIME("4") "[cut]\n" TIME("5")
                               "five\n");
    assert_int_equal(r.status, 0);
    fake_nmd_stop(&f);
}

/* ---- completion ----------------------------------------------------------------------------- */

static void test_completion_offers_the_configuration_keys(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/config HTTP",
         OK("[{\"section\":\"queue\",\"key\":\"max-length\",\"meaning\":\"how many. And more.\"},"
            "{\"section\":\"queue\",\"key\":\"policy\",\"meaning\":\"which\"},"
            "{\"section\":\"node\",\"key\":\"memory\",\"meaning\":\"how much\"}]"), NULL},
    };
    struct nmctl_result r;
    struct fake_nmd f;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "__complete", "--", "config", "");
    assert_string_equal(r.out, "queue.max-length\thow many\nqueue.policy\twhich\nnode.memory\thow much\n");
    RUN(&r, "__complete", "--", "config", "--changed", "queue.m");
    assert_string_equal(r.out, "queue.max-length\thow many\n");
    RUN(&r, "__complete", "--", "config", "mem");
    assert_string_equal(r.out, "memory\thow much\n");
    RUN(&r, "__complete", "--", "config", "node.memory", "");
    assert_string_equal(r.out, "");
    fake_nmd_stop(&f);
}

/* A long description is cut between two words, also if the words before the cut are long. */
static void test_a_long_description_is_cut_between_words(void **state)
{
    static const char tail[] = "...\n";

    (void)state;
    for (int n = 1; n < 12; n++) {
        char reply[2048], meaning[512] = "";
        const struct fake_exchange x[] = {{"GET /v1/config HTTP", reply, NULL}};
        struct nmctl_result r;
        struct fake_nmd f;
        size_t words;

        while (strlen(meaning) < 300)
            (void)snprintf(meaning + strlen(meaning), sizeof meaning - strlen(meaning), "%.*s, ", n, "abcdefghijkl");
        (void)snprintf(reply, sizeof reply, OK("[{\"section\":\"q\",\"key\":\"k\",\"meaning\":\"%s\"}]"), meaning);
        nmctl_serve(&f, x, 1);
        RUN(&r, "__complete", "--", "config", "q");
        fake_nmd_stop(&f);
        words = strlen(r.out) - strlen("q.k\t") - strlen(tail);
        nmctl_expect(r.out, tail);
        assert_true(words > 140 && words < 160);
        /* the description has complete words, without the comma after the last one */
        assert_int_equal(words % ((size_t)n + 2), n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_word_of_list_state_selects_the_right_states),
        cmocka_unit_test(test_nmctl_wait_exits_at_its_deadline),
        cmocka_unit_test(test_nmctl_wait_repeats_its_progress_line),
        cmocka_unit_test(test_nmctl_run_reports_a_queued_container_without_a_reason),
        cmocka_unit_test(test_nmctl_wait_prints_the_result_of_each_container),
        cmocka_unit_test(test_an_nmd_that_hangs_does_not_delay_the_deadline_of_nmctl),
        cmocka_unit_test(test_nmctl_wait_reports_an_unknown_name_first),
        cmocka_unit_test(test_nmctl_wait_reports_that_nmd_hangs),
        cmocka_unit_test(test_logs_with_times_continue_at_the_same_byte_after_a_reconnect),
        cmocka_unit_test(test_completion_offers_the_configuration_keys),
        cmocka_unit_test(test_a_long_description_is_cut_between_words),
    };

    (void)setenv("LC_ALL", "C", 1);
    (void)unsetenv("NMD_SOCKET");
    (void)unsetenv("COLUMNS");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
