/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The part of nmd that runs nm-shuffle: one process, for which the test substitutes scripts with faults, and the files
 * of the jobs, which may be damaged.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <jansson.h>

#include "fail-nth.h"
#include "tests/unit/remove-tree.h"
#include "tests/unit/run-until.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "yarn/launch/shuffle-jobs.h"
#include "yarn/launch/shuffle-process.h"

#define SECONDS 20
#define APPLICATION "application_1700000000000_0001"

/* opens the program at the lowest free descriptor, which is the descriptor that the child process needs */
static int shell_fd;

struct fixture {
    char root[40], path[PATH_MAX];
    int fd;
    sd_event *event;
    struct nm_yarn_shuffle_process *process;
    unsigned n_listening, n_counted, n_ended;
    struct nm_yarn_shuffle_figures figures;
    struct nm_yarn_shuffle_usage first, forgotten;
    size_t n_listed;
    uint16_t port;
    char refused[100], why[400];
};

static void on_listening(uint16_t port, void *userdata)
{
    struct fixture *w = userdata;

    w->n_listening++;
    w->port = port;
}

static void on_refused(const char *error, void *userdata)
{
    struct fixture *w = userdata;

    (void)snprintf(w->refused, sizeof w->refused, "%s", error);
}

static void on_counted(const struct nm_yarn_shuffle_figures *figures, void *userdata)
{
    struct fixture *w = userdata;

    w->n_counted++;
    w->figures = *figures;
}

static void on_listed(const struct nm_yarn_shuffle_usage *top, size_t n, void *userdata)
{
    struct fixture *w = userdata;

    w->n_listed = n;
    if (n > 0)
        w->first = top[0];
}

static void on_forgotten(const struct nm_yarn_shuffle_usage *last, void *userdata)
{
    struct fixture *w = userdata;

    w->forgotten = *last;
}

static void on_ended(const char *why, void *userdata)
{
    struct fixture *w = userdata;

    assert_int_equal(w->n_ended++, 0);
    (void)snprintf(w->why, sizeof w->why, "%s", why);
}

static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    assert_non_null(w);
    (void)strcpy(w->root, "/tmp/nmd-test-sprocess.XXXXXX");
    assert_non_null(mkdtemp(w->root));
    w->fd = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(sd_event_new(&w->event) >= 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    (void)nm_yarn_shuffle_process_free(w->process);
    (void)sd_event_unref(w->event);
    (void)close(w->fd);
    (void)remove_tree(w->root);
    free(w);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#define RUN_UNTIL(w, condition) RUN_UNTIL_WITHIN(w, SECONDS * NM_USEC_PER_SEC, condition)

static int try_start(struct fixture *w, int program_fd, const char *script)
{
    const char *const argv[] = {"sh", "-c", script, w->root, NULL}; /* $0 is the directory of the test */
    const struct nm_yarn_shuffle_process_params p = {
        .event = w->event, .program_fd = program_fd, .argv = argv, .most_files = 100, .listening = on_listening,
        .refused = on_refused, .counted = on_counted, .listed = on_listed, .forgotten = on_forgotten, .ended = on_ended,
        .userdata = w};

    return nm_yarn_shuffle_process_new(&p, &w->process);
}

static void start(struct fixture *w, const char *script)
{
    w->process = nm_yarn_shuffle_process_free(w->process);
    w->n_listening = w->n_ended = 0;
    *w->why = '\0';
    assert_int_equal(try_start(w, shell_fd, script), 0);
}

static void touch(struct fixture *w, const char *name)
{
    assert_int_equal(nm_write_file_atomic_at(w->fd, name, "", 0600), 0);
}

/* ---- messages from nm-shuffle ------------------------------------------------------------- */

#define IDLE "; exec cat >/dev/null"
#define ADVISE_PORT "printf '{\"listening\": 7'; echo '}'"

static void test_nm_shuffle_reports_figures(void **state)
{
    struct fixture *w = *state;

    start(w, ADVISE_PORT "; echo '{\"ok\": {}}'; echo '{\"ok\": 5}'; echo '{\"ok\": {\"open\": 3, \"outputs_ok\": 4, "
             "\"outputs_failed\": -1, \"sent_bytes\": 5000000000, \"refused\": 9}}'" IDLE);
    RUN_UNTIL(w, w->n_counted > 0);
    assert_int_equal(w->n_counted, 1); /* the answers to other lines have no figures */
    assert_int_equal(w->figures.connections, 3);
    assert_int_equal(w->figures.outputs_ok, 4);
    assert_int_equal(w->figures.outputs_failed, 0);
    assert_int_equal(w->figures.sent_bytes, UINT64_C(5000000000));
}

/* The process may be wrong: an id becomes a part of sentences, and the list has a limit. */
static void test_applications_are_reported(void **state)
{
    struct fixture *w = *state;

    start(w, ADVISE_PORT "; echo '{\"ok\": {\"ended\": {\"application\": \"a_1\", \"slow\": 2, \"sent_bytes\": 7}}}'; "
             "echo '{\"ok\": {\"ended\": {\"application\": \"a b\"}}}'; echo '{\"ok\": {\"ended\": 1}}'; "
             "printf '{\"ok\": {\"open\": 1, \"stalled\": 6, \"top\": [{}, {\"application\": \"\"}'; "
             "for i in $(seq 40); do printf ', {\"application\": \"b_%d\", \"streams\": %d}' $i $i; done; "
             "echo ']}}'" IDLE);
    RUN_UNTIL(w, w->n_counted > 0);
    assert_int_equal(w->figures.stalled, 6);
    assert_string_equal(w->forgotten.application, "a_1");
    assert_int_equal(w->forgotten.slow, 2);
    assert_int_equal(w->forgotten.sent_bytes, 7);
    assert_int_equal(w->n_listed, NM_YARN_SHUFFLE_TOP_MAX);
    assert_string_equal(w->first.application, "b_1");
    assert_int_equal(w->first.streams, 1);
}

static void test_an_invalid_line_of_nm_shuffle_is_ignored(void **state)
{
    struct fixture *w = *state;

    start(w, "echo '{\"listening\": 0}'; echo '{\"listening\": 65536}'; echo '{\"listening\": \"x\"}'; echo '[]'; "
             "echo '{\"error\": 5}'; echo '{\"error\": \"no port\"}'" IDLE);
    RUN_UNTIL(w, *w->refused);
    assert_string_equal(w->refused, "no port");
    assert_int_equal(w->n_listening, 0);
    *w->refused = '\0';
    start(w, ADVISE_PORT "; echo nonsense; echo; echo '{\"error\": \"no such job\"}'" IDLE);
    RUN_UNTIL(w, *w->refused);
    assert_string_equal(w->refused, "no such job");
    assert_int_equal(w->n_ended, 0);
}

/* If the first line is invalid, nmd kills the process, since the line may have contained the port. */
static void test_an_invalid_first_line_ends_the_process(void **state)
{
    struct fixture *w = *state;

    start(w, "echo nonsense" IDLE);
    RUN_UNTIL(w, w->n_ended);
    assert_string_equal(w->why, "nm-shuffle was killed by signal 9");
    start(w, ADVISE_PORT IDLE);
    fail_nth(FAIL_MEMORY, 1);
    RUN_UNTIL(w, w->n_ended);
    assert_true(fail_stop());
    assert_int_equal(w->n_listening, 0);
}

/* Lines may have any length, and may end at the end of the buffer. The next line is read completely. */
static void test_after_a_line_of_any_length_the_next_line_is_read(void **state)
{
    static const unsigned sizes[] = {4000, 4094, 4095, 4096, 9000};
    struct fixture *w = *state;
    char script[300];

    for (size_t i = 0; i < NM_ARRAY_SIZE(sizes); i++) {
        (void)snprintf(script, sizeof script,
                       ADVISE_PORT "; head -c %u /dev/zero | tr '\\0' x; echo; " ADVISE_PORT IDLE, sizes[i]);
        start(w, script);
        RUN_UNTIL(w, w->n_listening == 2);
        assert_int_equal(w->port, 7);
    }
}

static void test_the_exit_of_nm_shuffle_is_reported(void **state)
{
    static const struct {
        const char *script, *why;
    } cases[] = {
        {"exit 4", "nm-shuffle exited with status 4"},
        {"echo first >&2; echo last >&2; exit 3", "nm-shuffle exited with status 3: last"},
        {"echo words >&2; kill -9 $$", "nm-shuffle was killed by signal 9"},
        {"exec >&- 2>&-; exit 5", "nm-shuffle exited with status 5"},
    };
    struct fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        start(w, cases[i].script);
        RUN_UNTIL(w, w->n_ended);
        assert_string_equal(w->why, cases[i].why);
        assert_int_equal(nm_yarn_shuffle_process_send(w->process, "x"), -EPIPE);
    }
    start(w, "head -c 2000 /dev/zero | tr '\\0' x >&2; echo >&2; exit 3");
    RUN_UNTIL(w, w->n_ended);
    assert_true(strlen(w->why) > 300);
}

/* Waits for the start without the event loop, as nmd does when it starts. */
static void test_nmd_can_wait_for_the_start_of_the_process(void **state)
{
    struct fixture *w = *state;
    char why[20] = "before";

    start(w, "exec sleep 1000");
    nm_yarn_shuffle_process_wait(w->process, NM_USEC_PER_SEC / 20);
    assert_int_equal(w->n_listening, 0);
    start(w, "echo '{\"listening\": 80}'" IDLE);
    nm_yarn_shuffle_process_wait(w->process, SECONDS * NM_USEC_PER_SEC);
    assert_int_equal(w->port, 80);
    start(w, "echo '{\"listening\": 81}'; exit 1"); /* the line is read although the process has exited */
    nm_yarn_shuffle_process_wait(w->process, SECONDS * NM_USEC_PER_SEC);
    assert_int_equal(w->port, 81);
    start(w, "exit 1");
    nm_yarn_shuffle_process_wait(w->process, UINT32_MAX); /* the wait ends when the process exits */
    assert_int_equal(w->n_listening, 0);
    nm_yarn_shuffle_process_last(w->process, why, sizeof why);
    assert_string_equal(why, "before");
}

/* ---- messages to nm-shuffle --------------------------------------------------------------- */

#define WAIT_FOR_GATE "while [ ! -e $0/go ]; do sleep 0.01; done; "
#define LINE_SIZE 4000

static bool has_taken(struct fixture *w, size_t size)
{
    struct stat st;

    return fstatat(w->fd, "taken", &st, 0) == 0 && (size_t)st.st_size >= size;
}

/* A process that doesn't read its input for a while later gets all lines in order. */
static void test_a_process_that_reads_late_gets_all_lines(void **state)
{
    enum { N = 60 };
    struct fixture *w = *state;
    char line[LINE_SIZE + 1] = "", *text;

    start(w, WAIT_FOR_GATE "exec cat >$0/taken");
    for (int i = 0; i < N; i++) {
        (void)memset(line, 'A' + i % 26, LINE_SIZE);
        assert_int_equal(nm_yarn_shuffle_process_send(w->process, line), 0);
    }
    touch(w, "go");
    RUN_UNTIL(w, has_taken(w, N * (LINE_SIZE + 1)));
    text = malloc(N * (LINE_SIZE + 1) + 1);
    assert_int_equal(nm_read_file_at(w->fd, "taken", text, N * (LINE_SIZE + 1) + 1, NULL), 0);
    for (int i = 0; i < N; i++) {
        assert_int_equal(text[i * (LINE_SIZE + 1)], 'A' + i % 26);
        assert_int_equal(text[i * (LINE_SIZE + 1) + LINE_SIZE - 1], 'A' + i % 26);
        assert_int_equal(text[i * (LINE_SIZE + 1) + LINE_SIZE], '\n');
    }
    free(text);
}

/* If the process hangs, nmd must not buffer lines without a limit. */
static void test_a_process_that_hangs_is_killed(void **state)
{
    const size_t size = NM_MIB;
    char *line = malloc(size + 1);
    struct fixture *w = *state;
    unsigned n = 0;
    int r;

    assert_non_null(line);
    (void)memset(line, 'x', size);
    line[size] = '\0';
    start(w, "exec sleep 1000");
    while ((r = nm_yarn_shuffle_process_send(w->process, line)) == 0)
        assert_true(n++ < 32);
    assert_int_equal(r, -EPIPE);
    assert_in_range(n, 15, 16);
    RUN_UNTIL(w, w->n_ended);
    assert_string_equal(w->why, "nm-shuffle was killed by signal 9");
    free(line);
}

/* If memory for a line can't be allocated, nmd kills the process. The next process gets all jobs. */
static void test_a_line_without_memory_restarts_the_process(void **state)
{
    struct fixture *w = *state;

    start(w, "exec sleep 1000");
    fail_nth(FAIL_MEMORY, 1);
    assert_int_equal(nm_yarn_shuffle_process_send(w->process, "x"), -EPIPE);
    assert_true(fail_stop());
    RUN_UNTIL(w, w->n_ended);
    assert_string_equal(w->why, "nm-shuffle was killed by signal 9");
}

/* A process that has closed its stdin is killed, as one that hangs. */
static void test_a_process_without_stdin_is_killed(void **state)
{
    char line[LINE_SIZE + 1] = "";
    struct fixture *w = *state;

    start(w, "exec <&-; echo '{\"listening\": 1}'; exec sleep 1000");
    RUN_UNTIL(w, w->n_listening);
    assert_int_equal(nm_yarn_shuffle_process_send(w->process, "x"), -EPIPE);
    RUN_UNTIL(w, w->n_ended);
    /* The process is also killed if lines are still in the buffer. */
    (void)memset(line, 'x', LINE_SIZE);
    start(w, WAIT_FOR_GATE "exec <&-; echo '{\"listening\": 1}'; exec sleep 1000");
    for (int i = 0; i < 40; i++)
        assert_int_equal(nm_yarn_shuffle_process_send(w->process, line), 0);
    touch(w, "go");
    RUN_UNTIL(w, w->n_ended);
    assert_string_equal(w->why, "nm-shuffle was killed by signal 9");
}

/* ---- failed starts ------------------------------------------------------------------------ */

static unsigned count_descriptors(void)
{
    unsigned kinds = fail_pause(), n = 0;
    DIR *dir = opendir("/proc/self/fd");

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    assert_int_equal(closedir(dir), 0);
    fail_resume(kinds);
    return n;
}

static int begin(void *userdata)
{
    struct fixture *w = userdata;
    const unsigned descriptors = count_descriptors();
    int r = try_start(w, shell_fd, "exit 0");

    if (r < 0)
        assert_null(w->process);
    w->process = nm_yarn_shuffle_process_free(w->process);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* the child process was reaped */
    assert_int_equal(errno, ECHILD);
    assert_int_equal(count_descriptors(), descriptors);
    return r;
}

static void begin_with_failures(void *userdata)
{
    int r = begin(userdata);

    assert_true(r == 0 || r == -EAGAIN || r == -ENOMEM || r == -EMFILE);
}

static void test_a_failed_start_leaves_no_resources(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(fail_each(begin, w), 1);
    assert_int_equal(fail_each_of(FAIL_PROCESS, begin_with_failures, w), 5);
    assert_int_equal(fail_each_of(FAIL_EVENT, begin_with_failures, w), 4);
    fail_nth(FAIL_FILES, 1);
    assert_int_equal(begin(w), -EMFILE);
    assert_true(fail_stop());
}

/* After fork() the child process can report an error only with its exit status. */
static void test_a_failed_exec_of_nm_shuffle_is_reported(void **state)
{
    _cleanup_close_ int no_program = open("/", O_PATH | O_CLOEXEC);
    struct fixture *w = *state;

    assert_int_equal(try_start(w, no_program, "exit 0"), 0);
    RUN_UNTIL(w, w->n_ended);
    assert_string_equal(w->why, "nm-shuffle exited with status 127");
    for (unsigned n = 1; n <= 5; n++) {
        fail_nth(FAIL_CHILD, n);
        start(w, "exit 0");
        assert_false(fail_stop()); /* the call fails in the child process */
        RUN_UNTIL(w, w->n_ended);
        /* there is no dup2() if the descriptor has the right number already */
        if (n != 4 || shell_fd != STDERR_FILENO + 1)
            assert_string_equal(w->why, "nm-shuffle exited with status 126");
    }
}

/* ---- jobs --------------------------------------------------------------------------------- */

#define KEY_MAX 64

static int try_open_jobs(const char *state_dir, struct nm_yarn_shuffle_jobs *ret)
{
    *ret = (struct nm_yarn_shuffle_jobs){.state_fd = -EBADF, .key_min = 1, .key_max = KEY_MAX};
    return nm_yarn_shuffle_jobs_open(state_dir, ret);
}

static void open_jobs(struct fixture *w, struct nm_yarn_shuffle_jobs *ret)
{
    assert_int_equal(try_open_jobs(w->root, ret), 0);
}

static int add_job(struct nm_yarn_shuffle_jobs *jobs, const char *application, const char *submitter, uid_t uid,
                   struct nm_bytes key, const struct nm_yarn_shuffle_job **ret)
{
    const struct nm_yarn_shuffle_grant grant = {
        .application = application, .submitter = submitter, .uid = uid, .key = key, .is_stored = true};

    return nm_yarn_shuffle_jobs_add(jobs, &grant, ret);
}

#define GOOD "{\"submitter\": \"alice\", \"uid\": 7, \"key\": \"0aff\"}"

static void test_a_damaged_job_file_is_ignored(void **state)
{
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"submitter\": \"alice\", \"uid\": 7}",
        "{\"submitter\": \"../x\", \"uid\": 7, \"key\": \"0aff\"}",
        "{\"submitter\": \"alice\", \"uid\": -1, \"key\": \"0aff\"}",
        "{\"submitter\": \"alice\", \"uid\": 4294967295, \"key\": \"0aff\"}",
        "{\"submitter\": \"alice\", \"uid\": \"7\", \"key\": \"0aff\"}",
        "{\"submitter\": \"alice\", \"uid\": 7, \"key\": \"\"}",
        "{\"submitter\": \"alice\", \"uid\": 7, \"key\": \"0af\"}",
        "{\"submitter\": \"alice\", \"uid\": 7, \"key\": \"0AFF\"}",
        "{\"submitter\": \"alice\", \"uid\": 7, \"key\": \"0a\\\"}\"}",
        "{\"submitter\": \"alice\", \"uid\": 7, \"uid\": 8, \"key\": \"0aff\"}",
    };
    struct nm_yarn_shuffle_jobs jobs;
    struct fixture *w = *state;
    char text[400];

    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        assert_int_equal(nm_write_file_atomic_at(w->fd, APPLICATION, bad[i], 0600), 0);
        open_jobs(w, &jobs);
        assert_true(TAILQ_EMPTY(&jobs.list));
        nm_yarn_shuffle_jobs_done(&jobs);
    }
    (void)snprintf(text, sizeof text, "{\"submitter\": \"alice\", \"uid\": 7, \"key\": \"%0130d\"}", 0);
    assert_int_equal(nm_write_file_atomic_at(w->fd, APPLICATION, text, 0600), 0);
    assert_int_equal(nm_write_file_atomic_at(w->fd, "job_1", GOOD, 0600), 0);
    assert_int_equal(mkdirat(w->fd, "application_2", 0700), 0);
    open_jobs(w, &jobs);
    assert_true(TAILQ_EMPTY(&jobs.list));
    nm_yarn_shuffle_jobs_done(&jobs);
    assert_int_equal(try_open_jobs("/no/such/directory", &jobs), -ENOENT);
}

static void read_with_failures(void *userdata)
{
    struct nm_yarn_shuffle_jobs jobs;
    struct fixture *w = userdata;
    int r = try_open_jobs(w->root, &jobs);

    assert_true(r == 0 || r == -EIO || r == -EMFILE);
    if (r == 0 && !TAILQ_EMPTY(&jobs.list))
        assert_string_equal(TAILQ_FIRST(&jobs.list)->key, "0aff");
    if (r == 0)
        nm_yarn_shuffle_jobs_done(&jobs);
}

/* A file that can't be read is not removed and can be read the next time. */
static void test_an_unreadable_job_file_is_not_removed(void **state)
{
    struct nm_yarn_shuffle_jobs jobs;
    struct fixture *w = *state;

    assert_int_equal(nm_write_file_atomic_at(w->fd, APPLICATION, GOOD, 0600), 0);
    assert_true(fail_each_of(FAIL_MEMORY, read_with_failures, w) > 5);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, read_with_failures, w) >= 4);
    open_jobs(w, &jobs);
    assert_int_equal(TAILQ_FIRST(&jobs.list)->uid, 7);
    assert_null(TAILQ_NEXT(TAILQ_FIRST(&jobs.list), link));
    nm_yarn_shuffle_jobs_done(&jobs);
}

struct adding {
    struct nm_yarn_shuffle_jobs jobs;
    const struct nm_yarn_shuffle_job *job;
};

static int change(void *userdata)
{
    struct adding *a = userdata;
    const struct nm_yarn_shuffle_job *job = NULL;
    int r = add_job(&a->jobs, APPLICATION, "alice", 7, nm_bytes_of("new"), &job);

    if (r < 0) {
        assert_null(job);
        assert_ptr_equal(TAILQ_FIRST(&a->jobs.list), a->job);
        assert_string_equal(a->job->key, "6f6c64");
    } else {
        assert_string_equal(job->key, "6e6577");
        assert_null(TAILQ_NEXT(job, link));
    }
    return r;
}

/* If a new key of a job can't be saved, the file with the former key is kept, since the end of the application needs
 * it. */
static void test_a_job_file_is_kept_if_its_new_key_can_not_be_saved(void **state)
{
    struct fixture *w = *state;
    struct adding a;
    char line[NM_YARN_SHUFFLE_LINE_SIZE];
    struct stat st;

    open_jobs(w, &a.jobs);
    assert_int_equal(add_job(&a.jobs, "job_1", "alice", 7, nm_bytes_of("old"), &a.job), -EBADMSG);
    assert_int_equal(add_job(&a.jobs, APPLICATION, "a b", 7, nm_bytes_of("old"), &a.job), -EBADMSG);
    assert_int_equal(add_job(&a.jobs, APPLICATION, "alice", 7, nm_bytes_of(""), &a.job), -EBADMSG);
    assert_int_equal(add_job(&a.jobs, APPLICATION, "alice", 7, (struct nm_bytes){(const uint8_t *)line, KEY_MAX + 1},
                             &a.job), -EBADMSG);
    assert_true(TAILQ_EMPTY(&a.jobs.list));
    assert_int_equal(add_job(&a.jobs, APPLICATION, "alice", 7, nm_bytes_of("old"), &a.job), 0);
    nm_yarn_shuffle_add_line(a.job, line);
    assert_string_equal(line, "{\"add\": {\"job\": \"job_1700000000000_0001\", \"user\": \"alice\", \"uid\": 7, "
                              "\"key\": \"6f6c64\"}}");
    for (unsigned n = 1; n <= 3; n++) {
        fail_nth(FAIL_MEMORY, n);
        assert_int_equal(change(&a), -ENOMEM);
        assert_true(fail_stop());
    }
    assert_int_equal(add_job(&a.jobs, APPLICATION, "bob", 7, nm_bytes_of("old"), &a.job), 0);
    assert_int_equal(add_job(&a.jobs, APPLICATION, "bob", 8, nm_bytes_of("old"), &a.job), 0);
    assert_int_equal(add_job(&a.jobs, APPLICATION, "bob", 8, nm_bytes_of("old"), &a.job), 1);
    assert_int_equal(change(&a), 0);
    assert_int_equal(fstatat(w->fd, APPLICATION, &st, 0), 0);
    assert_int_equal(nm_yarn_shuffle_jobs_remove(&a.jobs, APPLICATION), 0);
    assert_int_equal(fstatat(w->fd, APPLICATION, &st, 0), -1);
    assert_int_equal(nm_yarn_shuffle_jobs_remove(&a.jobs, APPLICATION), -ENOENT);
    nm_yarn_shuffle_jobs_done(&a.jobs);
}

static void add_with_failures(void *userdata)
{
    const struct nm_yarn_shuffle_job *job;
    struct nm_yarn_shuffle_jobs *jobs = userdata;

    assert_int_equal(add_job(jobs, APPLICATION, "alice", 7, nm_bytes_of("old"), &job), 0);
    assert_ptr_equal(TAILQ_FIRST(&jobs->list), job);
    assert_int_equal(nm_yarn_shuffle_jobs_remove(jobs, APPLICATION), 0);
    assert_true(TAILQ_EMPTY(&jobs->list));
}

/* A job that can't be saved is served until nmd exits. */
static void test_a_job_that_can_not_be_saved_is_served(void **state)
{
    struct nm_yarn_shuffle_jobs jobs;

    open_jobs(*state, &jobs);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, add_with_failures, &jobs) >= 3);
    nm_yarn_shuffle_jobs_done(&jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nm_shuffle_reports_figures),
        TEST(test_applications_are_reported),
        TEST(test_an_invalid_line_of_nm_shuffle_is_ignored),
        TEST(test_an_invalid_first_line_ends_the_process),
        TEST(test_after_a_line_of_any_length_the_next_line_is_read),
        TEST(test_the_exit_of_nm_shuffle_is_reported),
        TEST(test_nmd_can_wait_for_the_start_of_the_process),
        TEST(test_a_process_that_reads_late_gets_all_lines),
        TEST(test_a_process_that_hangs_is_killed),
        TEST(test_a_line_without_memory_restarts_the_process),
        TEST(test_a_process_without_stdin_is_killed),
        TEST(test_a_failed_start_leaves_no_resources),
        TEST(test_a_failed_exec_of_nm_shuffle_is_reported),
        TEST(test_a_damaged_job_file_is_ignored),
        TEST(test_an_unreadable_job_file_is_not_removed),
        TEST(test_a_job_file_is_kept_if_its_new_key_can_not_be_saved),
        TEST(test_a_job_that_can_not_be_saved_is_served),
    };

    (void)signal(SIGPIPE, SIG_IGN); /* as in nmd */
    json_set_alloc_funcs(malloc, free); /* for the wrappers in fail-nth.c */
    shell_fd = open("/bin/sh", O_PATH | O_CLOEXEC);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
