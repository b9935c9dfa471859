/* SPDX-License-Identifier: Apache-2.0 */

/* The pure parts of log aggregation: its settings, the choice of logs, Hadoop's policies, the saved state, and the
 * reports to the ResourceManager. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fail-nth.h"
#include "util/clock.h"
#include "util/error.h"
#include "yarn/conf/settings.h"
#include "yarn/id-messages.h"
#include "yarn/logs/log-context.h"
#include "yarn/logs/log-policy.h"
#include "yarn/logs/log-reports.h"
#include "yarn/logs/log-state.h"
#include "yarn/logs/log-work.h"
#include "yarn/logs/logs.pb-c.h"

#define CLASSES "org.apache.hadoop.yarn.server.nodemanager.containermanager.logaggregation."
#define APPLICATION "application_1700000000000_0001"

/* ---- settings ----------------------------------------------------------------------------- */

/* Reads a configuration with this property. */
static int read_with(const char *name, const char *value, struct nm_yarn_settings **ret, char **ret_message,
                     unsigned *warnings)
{
    struct nm_yarn_conf *c;
    char text[2000];
    int r;

    *ret_message = NULL;
    *warnings = 0;
    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    (void)snprintf(text, sizeof text, "<configuration><property><name>%s</name><value>%s</value></property>"
                   "</configuration>", name, value);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "site.xml", text, strlen(text), ret_message), 0);
    r = nm_yarn_settings_read(c, NULL, warnings, ret, ret_message);
    nm_yarn_conf_free(c);
    return r;
}

#define LOGS(name, value) "</value></property><property><name>yarn." name "</name><value>" value
#define DEFAULT_FS(value) "</value></property><property><name>fs.defaultFS</name><value>" value
#define INDEXED "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController"

/* The format, the remote directory and the interval of uploaded logs. */
static void test_log_aggregation_is_derived(void **state)
{
    static const struct {
        const char *value, *remote, *suffix;
        bool is_indexed;
        uint64_t roll_usec;
    } cases[] = {
        {"true", "file:///tmp/logs", "logs-tfile", false, 0},
        {"true" DEFAULT_FS(""), "file:///tmp/logs", "logs-tfile", false, 0},
        {"true" DEFAULT_FS("hdfs://ns1"), "hdfs://ns1/tmp/logs", "logs-tfile", false, 0},
        {"true" LOGS("nodemanager.remote-app-log-dir", "hdfs://ns1/app-logs/"), "hdfs://ns1/app-logs", "logs-tfile",
         false, 0},
        {"true" LOGS("nodemanager.remote-app-log-dir", "file:/srv/logs")
         LOGS("nodemanager.log-aggregation.roll-monitoring-interval-seconds", "10"), "file:///srv/logs", "logs-tfile",
         false, UINT64_C(3600000000)},
        {"true" LOGS("nodemanager.log-aggregation.roll-monitoring-interval-seconds", "10")
         LOGS("nodemanager.log-aggregation.roll-monitoring-interval-seconds.min", "-1"), "file:///tmp/logs",
         "logs-tfile", false, UINT64_C(10000000)},
        {"true" LOGS("log-aggregation.file-formats", "IFile,TFile")
         LOGS("log-aggregation.file-controller.IFile.class", INDEXED), "file:///tmp/logs", "logs-ifile", true, 0},
        {"true" LOGS("log-aggregation.TFile.remote-app-log-dir", "/t")
         LOGS("log-aggregation.TFile.remote-app-log-dir-suffix", "old"), "file:///t", "old", false, 0},
    };
    unsigned warnings;
    char *message;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_yarn_settings *s = NULL;

        assert_int_equal(read_with("yarn.log-aggregation-enable", cases[i].value, &s, &message, &warnings), 0);
        assert_string_equal(s->logs.remote, cases[i].remote);
        assert_string_equal(s->logs.suffix, cases[i].suffix);
        assert_int_equal(s->logs.is_indexed, cases[i].is_indexed);
        assert_int_equal(s->logs.roll_usec, cases[i].roll_usec);
        nm_yarn_settings_free(s);
    }
}

static void test_unsupported_log_aggregation_is_refused(void **state)
{
    static const struct {
        const char *value, *part;
    } wrong[] = {
        {"true" LOGS("nodemanager.log-aggregation.compression-type", "gz"), "without compression"},
        {"true" LOGS("nodemanager.log-aggregation.policy.class", "org.example.Own"),
         "can't run a policy written in Java"},
        {"true" LOGS("log-aggregation.file-formats", "IFile"), ".file-controller.IFile.class isn't set"},
        {"true" LOGS("log-aggregation.file-formats", ""), "must begin with the name of a format"},
        {"true" LOGS("log-aggregation.file-controller.TFile.class", "org.example.X"), "'org.example.X': nmd can't run"},
        {"true" LOGS("nodemanager.remote-app-log-dir", "s3a://b/logs"), "nmd uploads logs only to HDFS"},
        {"true" LOGS("nodemanager.remote-app-log-dir", "hdfs://ns1/"), "must be an absolute path below the root"},
        {"true" LOGS("nodemanager.remote-app-log-dir", "/a b"), "must be an absolute path below the root"},
        {"true" LOGS("nodemanager.remote-app-log-dir", "/a/.."), "must be an absolute path below the root"},
        {"true" DEFAULT_FS("/data"), "fs.defaultFS = '/data': must be a URI"},
        {"true" LOGS("nodemanager.remote-app-log-dir-suffix", "a/b"), "must be a name"},
    };
    unsigned warnings;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(wrong); i++) {
        struct nm_yarn_settings *s = NULL;
        char *message = NULL;

        assert_true(read_with("yarn.log-aggregation-enable", wrong[i].value, &s, &message, &warnings) < 0);
        if (!message || !strstr(message, wrong[i].part))
            fail_msg("%s: %s", wrong[i].value, message ?: "no message");
        free(message);
    }
}

static void test_all_reasons_why_logs_can_not_be_uploaded_are_reported(void **state)
{
    static const char *const parts[] = {"'org.example.X': nmd can't run", "nmd uploads logs only to HDFS",
                                        "without compression", "must be the name of a group"};
    struct nm_yarn_settings *s = NULL;
    char *message = NULL;
    unsigned warnings;

    (void)state;
    assert_true(read_with("yarn.log-aggregation-enable",
                          "true" LOGS("nodemanager.remote-app-log-dir", "s3a://b/logs")
                          LOGS("log-aggregation.file-controller.TFile.class", "org.example.X")
                          LOGS("nodemanager.log-aggregation.compression-type", "gz")
                          LOGS("nodemanager.remote-app-log-dir.groupname", "a b"), &s, &message, &warnings) < 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(parts); i++)
        if (!message || !strstr(message, parts[i]))
            fail_msg("%s: %s", parts[i], message ?: "no message");
    free(message);
}

static void test_nothing_is_checked_without_log_aggregation(void **state)
{
    struct nm_yarn_settings *s;
    unsigned warnings;
    char *message;

    (void)state;
    assert_int_equal(read_with("yarn.nodemanager.log-aggregation.compression-type", "gz", &s, &message, &warnings), 0);
    assert_false(s->logs.enabled);
    assert_null(s->logs.remote);
    nm_yarn_settings_free(s);
}

/* ---- context ------------------------------------------------------------------------------ */

static size_t pack(const Yarn__LogContext *m, uint8_t *buf, size_t size)
{
    assert_true(yarn__log_context__get_packed_size(m) <= size);
    return yarn__log_context__pack(m, buf);
}

static void test_a_context_is_read(void **state)
{
    _cleanup_(nm_yarn_log_context_donep) struct nm_yarn_log_context c = {0}, copy = {0};
    Yarn__LogContext m = YARN__LOG_CONTEXT__INIT;
    uint8_t buf[300];
    json_t *o;

    (void)state;
    assert_int_equal(nm_yarn_log_context_parse((struct nm_bytes){NULL, 0}, &c), 0);
    assert_true(!c.include && !c.exclude && !c.rolled_include && !c.rolled_exclude && !c.policy);
    assert_false(nm_yarn_log_context_rolls(&c));
    m.include = (char *)"std.*";
    m.rolled_include = (char *)"syslog";
    m.policy = (char *)CLASSES "NoneContainerLogAggregationPolicy";
    assert_int_equal(nm_yarn_log_context_parse((struct nm_bytes){buf, pack(&m, buf, sizeof buf)}, &c), 0);
    assert_string_equal(c.include, "std.*");
    assert_string_equal(c.rolled_include, "syslog");
    assert_null(c.rolled_exclude); /* not the default of Hadoop's descriptor, ".*" */
    assert_true(nm_yarn_log_context_rolls(&c));
    o = nm_yarn_log_context_to_json(&c);
    assert_int_equal(nm_yarn_log_context_from_json(o, &copy), 0);
    json_decref(o);
    assert_string_equal(copy.rolled_include, "syslog");
    assert_string_equal(copy.policy, m.policy);
    assert_null(copy.rolled_exclude);
}

static void test_an_invalid_context_is_refused(void **state)
{
    static char large[NM_YARN_LOG_TEXT_MAX + 2];
    struct nm_yarn_log_context c = {0};
    Yarn__LogContext m = YARN__LOG_CONTEXT__INIT;
    static uint8_t buf[NM_YARN_LOG_TEXT_MAX + 100];

    (void)state;
    assert_int_equal(nm_yarn_log_context_parse(nm_bytes_of("\xff\xff"), &c), -EBADMSG);
    m.include = (char *)"\xff";
    assert_int_equal(nm_yarn_log_context_parse((struct nm_bytes){buf, pack(&m, buf, sizeof buf)}, &c), -EBADMSG);
    memset(large, 'x', sizeof large - 1);
    m.include = large;
    assert_int_equal(nm_yarn_log_context_parse((struct nm_bytes){buf, pack(&m, buf, sizeof buf)}, &c), -EBADMSG);
    assert_null(c.include);
}

/* ---- policies ----------------------------------------------------------------------------- */

static struct nm_yarn_container_id container(int64_t number)
{
    return (struct nm_yarn_container_id){{{1700000000000, 1}, 1}, number};
}

static void test_policies_decide_as_in_hadoop(void **state)
{
    /* the letters say whether logs are uploaded: of a master, of tasks with these exit codes */
    static const int codes[] = {0, 0, 1, 137, 143, -105, -109};
    static const struct {
        const char *class, *verdicts;
    } cases[] = {
        {"AllContainerLogAggregationPolicy", "yyyyyyy"},
        {"NoneContainerLogAggregationPolicy", "nnnnnnn"},
        {"AMOnlyLogAggregationPolicy", "ynnnnnn"},
        {"FailedContainerLogAggregationPolicy", "nnynnyy"},
        {"FailedOrKilledContainerLogAggregationPolicy", "nnyyyyy"},
        {"AMOrFailedContainerLogAggregationPolicy", "ynynnyy"},
        {"LimitSizeContainerLogAggregationPolicy", "yyyyyyn"},
        {"SampleContainerLogAggregationPolicy", "ynyyyyy"},
    };
    const struct nm_yarn_container_id id = container(23); /* a sample doesn't contain it */

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *class = nm_strdup_printf(CLASSES "%s", cases[i].class);
        const struct nm_yarn_log_policy p = nm_yarn_log_policy_choose(class, NULL, NULL, NULL);

        for (size_t k = 0; k < NM_ARRAY_SIZE(codes); k++)
            if (nm_yarn_log_policy_accepts(&p, &id, k == 0, codes[k]) != (cases[i].verdicts[k] == 'y'))
                fail_msg("%s, verdict %zu", cases[i].class, k);
    }
}

/* The expected numbers are those of Hadoop's ContainerId.hashCode(). */
static void test_a_sample_has_hadoops_containers(void **state)
{
    static const int64_t sampled[] = {22,  40,  41,  42,  43,  60,  61,  62,  63,  64,  81,  82,
                                      83,  84,  102, 103, 104, 105, 122, 123, 124, 125, 126, 143,
                                      144, 145, 146, 164, 165, 166, 167, 184, 185, 186, 187};
    struct nm_yarn_log_policy p =
        nm_yarn_log_policy_choose(NULL, NULL, CLASSES "SampleContainerLogAggregationPolicy", "SR:0.2,MIN:20");
    size_t n = 0;

    (void)state;
    for (int64_t i = 2; i < 200; i++) {
        const struct nm_yarn_container_id id = container(i);
        const bool is_expected = i < 22 || (n < NM_ARRAY_SIZE(sampled) && sampled[n] == i);

        n += i >= 22 && is_expected;
        if (nm_yarn_log_policy_accepts(&p, &id, false, 0) != is_expected)
            fail_msg("container %d", (int)i);
    }
    assert_int_equal(n, NM_ARRAY_SIZE(sampled));
    p = nm_yarn_log_policy_choose(CLASSES "SampleContainerLogAggregationPolicy", "SR:0, MIN:100,X:1,SR:7", NULL,
                                  "MIN:1");
    for (int64_t i = 2; i < 200; i++) {
        const struct nm_yarn_container_id id = container(i);

        assert_int_equal(nm_yarn_log_policy_accepts(&p, &id, false, 0), i < 102);
    }
}

static void test_an_unknown_policy_is_replaced_by_the_clusters(void **state)
{
    (void)state;
    assert_int_equal(nm_yarn_log_policy_choose("org.example.Own", NULL, CLASSES "AMOnlyLogAggregationPolicy", "").kind,
                     NM_YARN_LOG_MASTER_ONLY);
    assert_int_equal(nm_yarn_log_policy_choose("org.example.Own", NULL, "org.example.Other", "").kind, NM_YARN_LOG_ALL);
    assert_int_equal(nm_yarn_log_policy_choose(CLASSES "NoneContainerLogAggregationPolicy", NULL,
                                               CLASSES "AMOnlyLogAggregationPolicy", "").kind, NM_YARN_LOG_NONE);
}

/* ---- books and their saved state ---------------------------------------------------------- */

static struct nm_yarn_log_book *new_book(uint64_t roll_usec, const char *rolled_include)
{
    struct nm_yarn_log_context c = {.rolled_include = rolled_include ? strdup(rolled_include) : NULL};
    const struct nm_yarn_log_policy all = {.kind = NM_YARN_LOG_ALL};
    const struct nm_yarn_application_id id = {1700000000000, 1};
    struct nm_yarn_log_book *b;

    assert_int_equal(nm_yarn_log_book_new(&id, "alice", &c, &b), 0);
    nm_yarn_log_book_configure(b, &all, roll_usec, 0);
    return b;
}

static struct nm_yarn_log_now at(uint64_t sec)
{
    return (struct nm_yarn_log_now){sec * NM_USEC_PER_SEC, 0, 100 * NM_USEC_PER_SEC};
}

static void test_an_upload_is_repeated_until_it_is_given_up(void **state)
{
    struct nm_yarn_log_book *b = new_book(0, "x");
    struct nm_yarn_log_now now = at(1000);
    uint64_t msec;

    (void)state;
    assert_int_equal(nm_yarn_log_book_start(b, "container_1", true), 0);
    assert_int_equal(nm_yarn_log_book_end(b, "container_1", true), 1);
    assert_true(nm_yarn_log_book_due(b) == NM_YARN_LOG_NEVER); /* no interval: nothing is uploaded before the end */
    nm_yarn_log_book_finish(b, now.usec, 1);
    assert_true(nm_yarn_log_book_due(b) <= now.usec);
    assert_true(nm_yarn_log_book_begin(b, 77));
    msec = b->upload.msec;
    assert_int_equal(msec, 77);
    assert_true(nm_yarn_log_book_due(b) == NM_YARN_LOG_NEVER);
    assert_false(nm_yarn_log_book_take_result(b, NM_YARN_LOG_TEMPORARY, "no name node", &now));
    assert_int_equal(nm_yarn_log_book_due(b), now.usec + 10 * NM_USEC_PER_SEC);
    assert_false(nm_yarn_log_book_begin(b, 99));
    assert_int_equal(b->upload.msec, msec);
    now = at(1100);
    assert_false(nm_yarn_log_book_take_result(b, NM_YARN_LOG_TEMPORARY, "no name node", &now));
    assert_int_equal(b->state, NM_YARN_LOG_OPEN); /* one more attempt removes what was begun */
    assert_int_equal(nm_yarn_log_book_due(b), now.usec);
    assert_false(nm_yarn_log_book_begin(b, 99));
    assert_true(b->upload.is_abandoned && b->upload.msec == msec);
    assert_true(nm_yarn_log_book_take_result(b, NM_YARN_LOG_TEMPORARY, "given up", &now));
    assert_int_equal(b->state, NM_YARN_LOG_GIVEN_UP);
    assert_string_equal(b->error, "no name node");
    assert_int_equal(b->n_ended, 1);
    nm_yarn_log_book_free(b);
}

/* A killed attempt may have stored the upload. */
static void test_an_abandoned_upload_may_be_done(void **state)
{
    struct nm_yarn_log_book *b = new_book(0, NULL);
    struct nm_yarn_log_now now = at(1100);

    (void)state;
    assert_int_equal(nm_yarn_log_book_end(b, "container_1", true), 1);
    nm_yarn_log_book_finish(b, now.usec, 1);
    (void)nm_yarn_log_book_begin(b, 1);
    assert_false(nm_yarn_log_book_take_result(b, NM_YARN_LOG_PERMANENT, "refused", &now));
    (void)nm_yarn_log_book_begin(b, 2);
    assert_true(nm_yarn_log_book_take_result(b, NM_YARN_LOG_DONE, "", &now));
    assert_int_equal(b->state, NM_YARN_LOG_UPLOADED);
    assert_string_equal(b->error, "");
    nm_yarn_log_book_free(b);
}

/* A container of an application that seemed to have ended isn't covered by the last upload in progress. */
static void test_a_late_container_opens_the_books_again(void **state)
{
    struct nm_yarn_log_book *b = new_book(0, NULL);
    struct nm_yarn_log_now now = at(1);

    (void)state;
    assert_int_equal(nm_yarn_log_book_end(b, "container_1", true), 1);
    nm_yarn_log_book_finish(b, now.usec, 1);
    (void)nm_yarn_log_book_begin(b, 1);
    assert_true(b->upload.is_final);
    assert_int_equal(nm_yarn_log_book_start(b, "container_2", true), 0);
    assert_true(b->is_unsaved && !b->is_finished && !b->upload.is_final);
    assert_int_equal(nm_yarn_log_book_end(b, "container_2", true), 1);
    assert_true(nm_yarn_log_book_take_result(b, NM_YARN_LOG_DONE, "", &now));
    assert_int_equal(b->state, NM_YARN_LOG_OPEN);
    assert_int_equal(b->n_ended, 1);
    nm_yarn_log_book_finish(b, now.usec, 2);
    (void)nm_yarn_log_book_begin(b, 2);
    b->is_unsaved = false;
    assert_int_equal(nm_yarn_log_book_end(b, "container_3", true), 1); /* without a start */
    assert_true(b->is_unsaved && !b->upload.is_final);
    assert_true(nm_yarn_log_book_take_result(b, NM_YARN_LOG_DONE, "", &now));
    assert_int_equal(b->n_ended, 1);
    (void)nm_yarn_log_book_begin(b, 3);
    assert_true(nm_yarn_log_book_take_result(b, NM_YARN_LOG_DONE, "", &now));
    assert_int_equal(b->state, NM_YARN_LOG_UPLOADED);
    assert_int_equal(nm_yarn_log_book_start(b, "container_4", true), 0);
    assert_int_equal(b->state, NM_YARN_LOG_OPEN);
    nm_yarn_log_book_free(b);
}

/* After a restart, the time while nmd was not running doesn't count, so there is at least one attempt. */
static void test_a_restart_gives_an_upload_more_time(void **state)
{
    struct nm_yarn_log_book *b = new_book(0, NULL);
    struct nm_yarn_log_now now = at(100000);

    (void)state;
    nm_yarn_log_book_finish(b, 0, 1);
    (void)nm_yarn_log_book_begin(b, 5);
    now.started_usec = now.usec - NM_USEC_PER_SEC;
    assert_false(nm_yarn_log_book_take_result(b, NM_YARN_LOG_TEMPORARY, "x", &now));
    assert_int_equal(b->state, NM_YARN_LOG_OPEN);
    nm_yarn_log_book_free(b);
}

static void test_a_running_application_rolls(void **state)
{
    const uint64_t hour_usec = 3600 * NM_USEC_PER_SEC;
    struct nm_yarn_log_book *b = new_book(hour_usec, "syslog");
    const struct nm_yarn_log_policy all = {.kind = NM_YARN_LOG_ALL};
    struct nm_yarn_log_now now = at(4000);

    (void)state;
    assert_int_equal(nm_yarn_log_book_due(b), hour_usec);
    assert_false(nm_yarn_log_book_has_work(b));
    assert_int_equal(nm_yarn_log_book_start(b, "container_1", false), 0);
    assert_false(nm_yarn_log_book_has_work(b));
    assert_int_equal(nm_yarn_log_book_start(b, "container_2", true), 0);
    assert_true(nm_yarn_log_book_has_work(b));
    (void)nm_yarn_log_book_begin(b, 1);
    assert_int_equal(nm_yarn_log_book_end(b, "container_2", true), 1); /* ends during the upload */
    assert_true(nm_yarn_log_book_take_result(b, NM_YARN_LOG_DONE, "", &now));
    assert_int_equal(b->n_ended, 1); /* the upload didn't cover its end */
    assert_int_equal(nm_yarn_log_book_due(b), now.usec + hour_usec);
    nm_yarn_log_book_finish(b, now.usec, 1);
    assert_int_equal(nm_yarn_log_book_due(b), 0);
    nm_yarn_log_book_configure(b, &all, hour_usec, now.usec); /* as after a restart */
    assert_int_equal(nm_yarn_log_book_due(b), 0);
    assert_true(nm_yarn_log_book_begin(b, 1));
    assert_int_equal(b->upload.msec, 2); /* differs from the first one, although the clock stands still */
    assert_true(b->upload.is_final);
    assert_true(nm_yarn_log_book_take_result(b, NM_YARN_LOG_DONE, "", &now));
    assert_int_equal(b->state, NM_YARN_LOG_UPLOADED);
    nm_yarn_log_book_free(b);
}

static void test_a_failed_cycle_keeps_its_containers(void **state)
{
    struct nm_yarn_log_book *b = new_book(10 * NM_USEC_PER_SEC, "x");
    struct nm_yarn_log_now now = at(50);

    (void)state;
    assert_int_equal(nm_yarn_log_book_end(b, "container_1", true), 1);
    (void)nm_yarn_log_book_begin(b, 1);
    assert_true(nm_yarn_log_book_take_result(b, NM_YARN_LOG_PERMANENT, "refused", &now));
    assert_int_equal(b->state, NM_YARN_LOG_OPEN);
    assert_int_equal(b->n_ended, 1);
    assert_int_equal(b->upload.msec, 0);
    assert_true(nm_yarn_log_book_due(b) > now.usec);
    nm_yarn_log_book_finish(b, now.usec, 1); /* the last upload doesn't wait for the next cycle */
    assert_int_equal(nm_yarn_log_book_due(b), 0);
    nm_yarn_log_book_free(b);
}

static void test_many_ended_containers_are_uploaded_early(void **state)
{
    struct nm_yarn_log_book *b = new_book(0, NULL);
    struct nm_yarn_log_now now = at(50);
    char id[64];

    (void)state;
    for (unsigned i = 0; i < NM_YARN_LOG_UPLOAD_MAX; i++) {
        assert_true(nm_yarn_log_book_due(b) == NM_YARN_LOG_NEVER);
        (void)snprintf(id, sizeof id, "container_%u", i);
        assert_int_equal(nm_yarn_log_book_end(b, id, true), 1);
    }
    assert_int_equal(nm_yarn_log_book_due(b), 0);
    (void)nm_yarn_log_book_begin(b, 1);
    assert_false(b->upload.is_final);
    assert_true(nm_yarn_log_book_take_result(b, NM_YARN_LOG_DONE, "", &now));
    assert_int_equal(b->n_ended, 0);
    assert_true(nm_yarn_log_book_due(b) == NM_YARN_LOG_NEVER);
    nm_yarn_log_book_free(b);
}

static struct nm_yarn_log_book *reread(const struct nm_yarn_log_book *b)
{
    _cleanup_free_ char *text = nm_yarn_log_state_text(b);
    struct nm_yarn_log_book *copy;

    assert_non_null(text);
    assert_int_equal(nm_yarn_log_state_parse(b->id, nm_bytes_of(text), &copy), 0);
    return copy;
}

static void test_the_state_survives_a_restart(void **state)
{
    struct nm_yarn_log_book *b = new_book(NM_USEC_PER_SEC, "log\"s\n"), *copy;

    (void)state;
    assert_int_equal(nm_yarn_log_book_set_account(b, "nobody"), 0);
    assert_int_equal(nm_yarn_log_book_set_acls(b, "bob staff", NULL), 0);
    assert_int_equal(nm_yarn_log_book_add_dir(b, "0123abcd", "/a \"log\""), 1);
    assert_int_equal(nm_yarn_log_book_add_dir(b, "fe-1", "/b\xff"), 1);
    assert_int_equal(nm_yarn_log_book_add_dir(b, "0123abcd", "/another path"), 0);
    assert_int_equal(nm_yarn_log_book_end(b, "container_1", true), 1);
    assert_int_equal(nm_yarn_log_book_end(b, "container_2", true), 1);
    nm_yarn_log_book_finish(b, 1, 12345);
    (void)nm_yarn_log_book_begin(b, 678);
    copy = reread(b);
    assert_string_equal(copy->user, "alice");
    assert_string_equal(copy->account, "nobody");
    assert_string_equal(copy->view_acl, "bob staff");
    assert_null(copy->modify_acl);
    assert_string_equal(copy->context.rolled_include, "log\"s\n");
    assert_int_equal(copy->n_dirs, 2);
    assert_string_equal(copy->dirs[0].id, "0123abcd");
    assert_string_equal(copy->dirs[0].path, "/a \"log\"");
    assert_string_equal(copy->dirs[1].id, "fe-1");
    assert_string_equal(copy->dirs[1].path, "/b");
    assert_int_equal(copy->n_ended, 2);
    assert_string_equal(copy->ended[1], "container_2");
    assert_true(copy->is_finished && copy->finished_realtime_usec == 12345);
    assert_true(copy->upload.msec == 678 && copy->upload.n == 2 && copy->upload.is_final);
    assert_false(copy->upload.is_attempted); /* the attempt has ended with the earlier nmd */
    assert_int_equal(nm_yarn_log_book_end(copy, "container_2", true), 0); /* its end is reported once more */
    assert_int_equal(copy->n_ended, 2);
    assert_false(copy->is_incomplete);
    nm_yarn_log_book_free(copy);
    nm_yarn_log_book_free(b);
}

static void test_the_number_of_directories_is_limited(void **state)
{
    struct nm_yarn_log_book *b = new_book(0, NULL);
    char id[20];

    (void)state;
    for (unsigned i = 0; i < NM_YARN_LOG_DIRS_MAX; i++) {
        (void)snprintf(id, sizeof id, "%x", i);
        assert_int_equal(nm_yarn_log_book_add_dir(b, id, "/d"), 1);
    }
    assert_int_equal(nm_yarn_log_book_add_dir(b, "more", "/d"), -E2BIG);
    assert_int_equal(nm_yarn_log_book_add_dir(b, "0", "/d"), 0);
    nm_yarn_log_book_free(b);
}

static void test_a_damaged_state_counts_as_incomplete(void **state)
{
#define DIRS(text) "{\"user\":\"alice\",\"context\":{},\"dirs\":" text "}\n"
#define HEADER "{\"user\":\"alice\",\"context\":{}}\n"
    static const struct {
        const char *text;
        bool is_valid, is_whole;
    } cases[] = {
        {"", false, false},
        {"{}", false, false},
        {"{\"user\":\"../x\",\"context\":{}}\n", false, false},
        {"{\"user\":\"alice\",\"context\":{\"include\":1}}\n", false, false},
        {HEADER, true, true},
        {DIRS("{\"01\":\"/a\"}"), true, true},
        {DIRS("[]"), true, false},
        {DIRS("{\"01\":7}"), true, false},
        {DIRS("{\"../1\":\"/a\"}"), true, false},
        {DIRS("{\"0123456789012345678901234567890123456789\":\"/a\"}"), true, false},
        {HEADER "{\"ended\":\"container_1\"}\n{\"upload\":5,\"n\":1,\"final\":false}\n", true, true},
        {HEADER "{\"ended\":\"container_1", true, false},
        {HEADER "{\"ended\":\"../../etc\"}\n", true, false},
        {HEADER "{\"upload\":5,\"n\":1,\"final\":false}\n", true, false},
        {HEADER "{\"upload\":5,\"n\":0,\"final\":true}\n", true, false},
        {HEADER "{\"state\":\"lost\"}\n", true, false},
        {HEADER "{\"finished\":-1}\n", true, false},
        {HEADER "\n", true, false},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_yarn_log_book *b = NULL;
        int r = nm_yarn_log_state_parse(APPLICATION, nm_bytes_of(cases[i].text), &b);

        if ((r == 0) != cases[i].is_valid || (b && b->is_incomplete == cases[i].is_whole) ||
            (b && b->is_unsaved == cases[i].is_whole))
            fail_msg("%s: %d", cases[i].text, r);
        nm_yarn_log_book_free(b);
    }
    assert_int_equal(nm_yarn_log_state_parse("../x", nm_bytes_of(HEADER), &(struct nm_yarn_log_book *){0}), -EBADMSG);
}

/* Logs that may be incomplete are not removed at once, although the last upload is done. */
static void test_incomplete_books_are_given_up(void **state)
{
    struct nm_yarn_log_book *b = new_book(0, NULL), *copy;
    struct nm_yarn_log_now now = at(1);

    (void)state;
    nm_yarn_log_book_set_incomplete(b, "a disk has failed");
    nm_yarn_log_book_set_incomplete(b, "another disk has failed");
    copy = reread(b);
    assert_true(copy->is_incomplete);
    nm_yarn_log_book_free(copy);
    nm_yarn_log_book_finish(b, 1, 1);
    (void)nm_yarn_log_book_begin(b, 1);
    assert_true(nm_yarn_log_book_take_result(b, NM_YARN_LOG_DONE, "", &now));
    assert_int_equal(b->state, NM_YARN_LOG_GIVEN_UP);
    assert_string_equal(b->error, "a disk has failed");
    nm_yarn_log_book_free(b);
}

static int save_and_read(void *userdata)
{
    struct nm_yarn_log_book *copy = NULL;
    _cleanup_free_ char *text = nm_yarn_log_state_text(userdata);
    int r = text ? nm_yarn_log_state_parse(APPLICATION, nm_bytes_of(text), &copy) : -ENOMEM;

    nm_yarn_log_book_free(copy);
    return r;
}

/* ---- reports ------------------------------------------------------------------------------ */

static unsigned n_settled;

static void on_settled(const struct nm_yarn_application_id *id, void *userdata)
{
    (void)userdata;
    assert_int_equal(id->cluster, 1700000000000);
    n_settled++;
}

static void test_reports_are_repeated_until_they_are_answered(void **state)
{
    const struct nm_yarn_application_id id = {1700000000000, 1}, other = {1700000000000, 2};
    struct nm_yarn_log_reports all = {.settled = on_settled};
    Yarn__LogReport **list;
    struct nm_arena arena;
    size_t n;

    (void)state;
    nm_arena_init(&arena, NM_MIB, NULL);
    nm_yarn_log_reports_init(&all);
    assert_int_equal(nm_yarn_log_reports_add(&all, &id, NM_YARN_LOG_STATUS_RUNNING, "first"), 0);
    assert_int_equal(nm_yarn_log_reports_add(&all, &id, NM_YARN_LOG_STATUS_RUNNING, "second"), 0);
    assert_int_equal(nm_yarn_log_reports_add(&all, &id, NM_YARN_LOG_STATUS_SUCCEEDED, ""), 0);
    assert_int_equal(nm_yarn_log_reports_fill(&all, &arena, &list, &n), 0);
    assert_int_equal(n, 2);
    assert_string_equal(list[0]->diagnostics, "second");
    assert_int_equal(list[1]->status, 4);
    assert_int_equal(nm_yarn_log_reports_add(&all, &other, NM_YARN_LOG_STATUS_FAILED, "later"), 0);
    assert_int_equal(nm_yarn_log_reports_fill(&all, &arena, &list, &n), 0); /* the heartbeat got no answer */
    assert_int_equal(n, 3);
    assert_int_equal(n_settled, 0);
    nm_yarn_log_reports_answered(&all, 1);
    assert_int_equal(n_settled, 2);
    assert_false(nm_yarn_log_reports_has_pending(&all));
    assert_int_equal(nm_yarn_log_reports_fill(&all, &arena, &list, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(nm_yarn_log_reports_fill_all(&all, &arena, 2, &list, &n), 0); /* a registration repeats them */
    assert_int_equal(n, 2);
    assert_int_equal(nm_yarn_log_reports_fill_all(&all, &arena, 7000 * NM_USEC_PER_SEC, &list, &n), 0);
    assert_int_equal(n, 0);
    nm_yarn_log_reports_done(&all);
    nm_arena_done(&arena);
}

static void test_without_memory_nothing_leaks(void **state)
{
    struct nm_yarn_log_book *b = new_book(NM_USEC_PER_SEC, "x");

    (void)state;
    assert_int_equal(nm_yarn_log_book_end(b, "container_1", true), 1);
    assert_true(fail_each(save_and_read, b) > 5);
    nm_yarn_log_book_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_aggregation_is_derived),
        cmocka_unit_test(test_unsupported_log_aggregation_is_refused),
        cmocka_unit_test(test_all_reasons_why_logs_can_not_be_uploaded_are_reported),
        cmocka_unit_test(test_nothing_is_checked_without_log_aggregation),
        cmocka_unit_test(test_a_context_is_read),
        cmocka_unit_test(test_an_invalid_context_is_refused),
        cmocka_unit_test(test_policies_decide_as_in_hadoop),
        cmocka_unit_test(test_a_sample_has_hadoops_containers),
        cmocka_unit_test(test_an_unknown_policy_is_replaced_by_the_clusters),
        cmocka_unit_test(test_an_upload_is_repeated_until_it_is_given_up),
        cmocka_unit_test(test_an_abandoned_upload_may_be_done),
        cmocka_unit_test(test_a_late_container_opens_the_books_again),
        cmocka_unit_test(test_a_restart_gives_an_upload_more_time),
        cmocka_unit_test(test_a_running_application_rolls),
        cmocka_unit_test(test_a_failed_cycle_keeps_its_containers),
        cmocka_unit_test(test_many_ended_containers_are_uploaded_early),
        cmocka_unit_test(test_the_state_survives_a_restart),
        cmocka_unit_test(test_the_number_of_directories_is_limited),
        cmocka_unit_test(test_a_damaged_state_counts_as_incomplete),
        cmocka_unit_test(test_incomplete_books_are_given_up),
        cmocka_unit_test(test_reports_are_repeated_until_they_are_answered),
        cmocka_unit_test(test_without_memory_nothing_leaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
