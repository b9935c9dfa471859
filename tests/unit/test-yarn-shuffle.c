/* SPDX-License-Identifier: Apache-2.0 */

/* yarn/launch/shuffle-service.h with the real nm-shuffle, whose answers show which jobs it knows. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <jansson.h>

#include "fail-nth.h"
#include "rpc/hadoop/digest.h"
#include "rpc/hadoop/writable.h"
#include "tests/unit/remove-tree.h"
#include "tests/unit/run-until.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "yarn/launch/shuffle-service.h"

#define SECONDS 20
#define APPLICATION "application_1700000000000_0001"
#define KEY "12345678"

struct world {
    char root[40], state[60];
    sd_event *event;
    struct nm_yarn_settings *settings;
    struct nm_yarn_shuffle *shuffle;
    char *user;
};

static char told[400]; /* the last message */

static void on_told(int level, const char *sentence)
{
    (void)level;
    assert_true(*sentence);
    (void)snprintf(told, sizeof told, "%s", sentence);
}

static int try_program(struct world *w, const char *program, char **ret_message)
{
    const struct nm_yarn_shuffle_params params = {
        .event = w->event, .settings = w->settings, .program = program, .state_dir = w->state, .tell = on_told};

    return nm_yarn_shuffle_new(&params, &w->shuffle, ret_message);
}

static int try_start(struct world *w, char **ret_message)
{
    return try_program(w, "./nm-shuffle", ret_message);
}

static void start(struct world *w)
{
    char *message = NULL;

    if (try_start(w, &message) < 0)
        fail_msg("%s", message ?: "no message");
}

static struct nm_yarn_settings *read_settings(const char *root, unsigned port)
{
    struct nm_yarn_settings *s;
    struct nm_yarn_conf *c;
    char text[600];

    (void)snprintf(text, sizeof text,
                   "<configuration><property><name>yarn.nodemanager.local-dirs</name><value>%s,/no/such</value>"
                   "</property><property><name>mapreduce.shuffle.port</name><value>%u</value></property>"
                   "</configuration>", root, port);
    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "site.xml", text, strlen(text), NULL), 0);
    assert_int_equal(nm_yarn_settings_read(c, NULL, NULL, &s, NULL), 0);
    (void)nm_yarn_conf_free(c);
    return s;
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    (void)strcpy(w->root, "/tmp/nmd-test-yshuffle.XXXXXX");
    assert_non_null(mkdtemp(w->root));
    assert_int_equal(chmod(w->root, 0755), 0);
    (void)snprintf(w->state, sizeof w->state, "%s/state", w->root);
    assert_true(sd_event_new(&w->event) >= 0);
    w->user = strdup(getpwuid(geteuid())->pw_name);
    w->settings = read_settings(w->root, 0);
    start(w);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    (void)nm_yarn_shuffle_free(w->shuffle);
    (void)nm_yarn_settings_free(w->settings);
    (void)sd_event_unref(w->event);
    (void)remove_tree(w->root);
    free(w->user);
    free(w);
    return 0;
}

static uint16_t port_of(const struct world *w)
{
    struct nm_bytes b = nm_yarn_shuffle_metadata(w->shuffle);

    assert_int_equal(b.size, 4);
    assert_int_equal(b.data[0], 0);
    assert_int_equal(b.data[1], 0);
    return (uint16_t)(b.data[2] << 8 | b.data[3]);
}

/* Sends a request that is signed with the job's key. Returns the status of the answer, or 0 if the connection is
 * refused. */
static int ask(const struct world *w, const char *key)
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
/* nm-shuffle answers 500 for a missing output of a known job, and 401 for an unknown job. */
#define KNOWN 500
#define UNKNOWN 401

#define RUN_UNTIL(w, condition) RUN_UNTIL_WITHIN(w, SECONDS * NM_USEC_PER_SEC, condition)

static int add_to(struct world *w, const char *application, const char *user, const char *key)
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

static int add(struct world *w, const char *user, const char *key)
{
    return add_to(w, APPLICATION, user, key);
}

/* Returns the nm-shuffle that this process has started. A zombie counts as well. */
static pid_t find_child(void)
{
    _cleanup_closedir_ DIR *dir = opendir("/proc");
    const struct dirent *d;
    pid_t found = 0;

    while ((d = readdir(dir))) {
        char path[300], text[600];
        const char *behind;
        int parent = 0;

        (void)snprintf(path, sizeof path, "/proc/%s/stat", d->d_name);
        if (nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) < 0 || !(behind = strrchr(text, ')')))
            continue;
        if (sscanf(behind, ") %*c %d", &parent) == 1 && parent == getpid())
            found = atoi(d->d_name);
    }
    return found;
}

static void test_jobs_are_added_and_removed(void **state)
{
    struct world *w = *state;

    assert_true(port_of(w) > 0);
    assert_int_equal(ask(w, KEY), UNKNOWN);
    assert_int_equal(add(w, w->user, KEY), 0);
    RUN_UNTIL(w, ask(w, KEY) == KNOWN);
    assert_int_equal(add(w, w->user, KEY), 0); /* each container of the application repeats this */
    assert_int_equal(add(w, w->user, "another"), 0);
    RUN_UNTIL(w, ask(w, "another") == KNOWN);
    nm_yarn_shuffle_end_application(w->shuffle, APPLICATION);
    RUN_UNTIL(w, ask(w, "another") == UNKNOWN);
    nm_yarn_shuffle_end_application(w->shuffle, APPLICATION);
}

static void test_invalid_data_of_a_job_is_refused(void **state)
{
    struct world *w = *state;

    assert_int_equal(nm_yarn_shuffle_add(w->shuffle, "alice", w->user, APPLICATION, nm_bytes_of("no token")), -EBADMSG);
    assert_int_equal(add(w, w->user, ""), -EBADMSG);
    assert_int_equal(add(w, "no-such-user", KEY), -ENOENT);
    /* A refusal by nm-shuffle is reported and has no other consequence. */
    assert_int_equal(add_to(w, "application_x", w->user, KEY), 0);
    RUN_UNTIL(w, strstr(told, "nm-shuffle refused its input: job: 'job_x' is not a job's id"));
    assert_int_equal(add(w, w->user, KEY), 0);
    RUN_UNTIL(w, ask(w, KEY) == KNOWN);
}

/* After the death of nm-shuffle, and of nmd, the jobs and the port are the same. */
static void test_a_restart_keeps_jobs_and_port(void **state)
{
    struct world *w = *state;
    const uint16_t port = port_of(w);
    const pid_t pid = find_child();

    assert_int_equal(add(w, w->user, KEY), 0);
    RUN_UNTIL(w, ask(w, KEY) == KNOWN);
    assert_true(pid > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    RUN_UNTIL(w, find_child() != pid && ask(w, KEY) == KNOWN);
    assert_int_equal(port_of(w), port);
    w->shuffle = nm_yarn_shuffle_free(w->shuffle);
    assert_int_equal(find_child(), 0);
    start(w);
    assert_int_equal(port_of(w), port);
    RUN_UNTIL(w, ask(w, KEY) == KNOWN);
}

/* nm-shuffle gets a nice value, since there is no manager to give it a CPU weight. */
static void test_the_process_gets_a_nice_value(void **state)
{
    struct world *w = *state;

    w->shuffle = nm_yarn_shuffle_free(w->shuffle);
    start(w);
    assert_int_equal(getpriority(PRIO_PROCESS, (id_t)find_child()), 10);
    assert_non_null(strstr(told, "nm-shuffle runs at nice 10, because this host has no CPU weights"));
}

static void test_a_port_in_use_is_reported(void **state)
{
    struct world *w = *state;
    struct nm_yarn_settings *other = read_settings(w->root, port_of(w)), *own = w->settings;
    struct nm_yarn_shuffle *first = w->shuffle;
    char *message = NULL;

    w->settings = other;
    assert_int_equal(try_start(w, &message), -EADDRINUSE);
    assert_non_null(strstr(message, "in use"));
    free(message);
    w->settings = own;
    w->shuffle = first;
    (void)nm_yarn_settings_free(other);
}

/* ---- failures ----------------------------------------------------------------------------- */

static void write_port(const struct world *w, const char *text)
{
    char path[100];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/shuffle/port", w->state);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* An invalid saved port is ignored: nm-shuffle listens at another one. */
static void test_an_invalid_saved_port_is_ignored(void **state)
{
    static const char *const bad[] = {"", "x\n", "70000\n", "-1\n", "99999999999999999999\n", "0\n"};
    struct world *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        w->shuffle = nm_yarn_shuffle_free(w->shuffle);
        write_port(w, bad[i]);
        start(w);
        assert_true(port_of(w) > 0);
    }
}

/* Another process has taken the port while nmd was stopped. */
static void test_a_lost_port_is_replaced(void **state)
{
    struct world *w = *state;
    const uint16_t port = port_of(w);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(add(w, w->user, KEY), 0);
    w->shuffle = nm_yarn_shuffle_free(w->shuffle);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 1), 0);
    start(w);
    assert_int_not_equal(port_of(w), port);
    RUN_UNTIL(w, ask(w, KEY) == KNOWN);
}

static void test_a_missing_program_is_reported(void **state)
{
    struct world *w = *state;
    struct nm_yarn_shuffle *first = w->shuffle;
    char *message = NULL;

    assert_int_equal(nm_yarn_shuffle_check(w->settings, "./nm-shuffle", true, NULL), 0);
    assert_int_equal(nm_yarn_shuffle_check(w->settings, "/no/nm-shuffle", true, &message), -ENOENT);
    assert_string_equal(message, "/no/nm-shuffle: No such file or directory");
    free(message);
    assert_int_equal(try_program(w, "/no/nm-shuffle", &message), -ENOENT);
    assert_string_equal(message, "/no/nm-shuffle: No such file or directory");
    free(message);
    assert_int_equal(try_program(w, "/bin/true", &message), -EADDRINUSE);
    assert_string_equal(message, "nm-shuffle doesn't listen: it doesn't respond");
    free(message);
    assert_ptr_equal(w->shuffle, first);
}

static void start_with_failures(void *userdata)
{
    struct world *w = userdata;
    char *message = NULL;
    int r = try_start(w, &message);
    unsigned kinds = fail_pause();

    if (r < 0) {
        assert_null(w->shuffle);
        assert_true(!message || *message);
    } else {
        assert_true(port_of(w) > 0);
        w->shuffle = nm_yarn_shuffle_free(w->shuffle);
    }
    assert_int_equal(find_child(), 0);
    free(message);
    fail_resume(kinds);
}

/* A start succeeds completely or fails, and a later start knows all jobs. */
static void test_a_failed_start_loses_no_job(void **state)
{
    struct world *w = *state;

    assert_int_equal(add(w, w->user, KEY), 0);
    w->shuffle = nm_yarn_shuffle_free(w->shuffle);
    assert_true(fail_each_of(FAIL_MEMORY, start_with_failures, w) > 5);
    assert_true(fail_each_of(FAIL_PROCESS | FAIL_EVENT, start_with_failures, w) > 5);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, start_with_failures, w) > 5);
    start(w);
    RUN_UNTIL(w, ask(w, KEY) == KNOWN);
}

static void add_with_failures(void *userdata)
{
    struct world *w = userdata;
    int r = add(w, w->user, KEY);
    unsigned kinds = fail_pause();

    if (r < 0) {
        assert_int_equal(r, -ENOMEM);
        assert_int_equal(add(w, w->user, KEY), 0); /* as for the next container */
    }
    RUN_UNTIL(w, ask(w, KEY) == KNOWN);
    fail_resume(kinds);
    nm_yarn_shuffle_end_application(w->shuffle, APPLICATION);
    kinds = fail_pause();
    RUN_UNTIL(w, ask(w, KEY) == UNKNOWN);
    w->shuffle = nm_yarn_shuffle_free(w->shuffle); /* a new object, since restarts are delayed after several ends */
    start(w);
    fail_resume(kinds);
}

/* Whatever fails, accepted jobs are served and ended ones aren't. */
static void test_accepted_jobs_are_served_whatever_fails(void **state)
{
    struct world *w = *state;

    assert_true(fail_each_of(FAIL_MEMORY, add_with_failures, w) > 5);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, add_with_failures, w) > 2);
}

/* The start is repeated until it succeeds. Jobs are added then. */
static void test_a_failed_restart_is_repeated(void **state)
{
    struct world *w = *state;
    const uint16_t port = port_of(w);

    for (unsigned n = 1; n <= 2; n++) {
        const pid_t pid = find_child();

        told[0] = '\0';
        assert_int_equal(kill(pid, SIGKILL), 0);
        RUN_UNTIL(w, *told);
        assert_string_equal(told, "nm-shuffle was killed by signal 9; restarting it");
        assert_int_equal(add(w, w->user, n == 1 ? KEY : "other"), 0);
        fail_nth(FAIL_PROCESS, n);
        RUN_UNTIL(w, find_child() != 0 && ask(w, n == 1 ? KEY : "other") == KNOWN);
        assert_true(fail_stop());
        assert_int_equal(port_of(w), port);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_jobs_are_added_and_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_data_of_a_job_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_restart_keeps_jobs_and_port, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_process_gets_a_nice_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_port_in_use_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_invalid_saved_port_is_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_lost_port_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_missing_program_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_failed_start_loses_no_job, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_accepted_jobs_are_served_whatever_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_failed_restart_is_repeated, set_up, tear_down),
    };

    (void)signal(SIGPIPE, SIG_IGN); /* as in nmd */
    json_set_alloc_funcs(malloc, free); /* fail-nth.c's wrappers */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
