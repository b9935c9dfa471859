/* SPDX-License-Identifier: Apache-2.0 */

/* The output of a container, with real commands and the real shim: the files, the limit of their size, a full disk, and
 * a killed shim. */

#include "tests/unit/launch-fixture.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/launch/launch-internal.h"
#include "agent/launch/output-read.h"
#include "util/clock.h"
#include "util/fileio.h"

#define LIMIT NM_OUTPUT_MIN_BYTES

static int open_logs(const struct fixture *w)
{
    int fd = open(w->logs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

/* Returns all output of a stream that the files have, from the offset `from` on, as nmd reads the stream. *ret_base:
 * offset of the first file. */
static char *read_all(const struct fixture *w, const char *stream, uint64_t from, uint64_t *ret_base)
{
    _cleanup_close_ int dir = open_logs(w);
    char *text = calloc(1, 4 * LIMIT);
    size_t len = 0;

    for (bool first = true;; first = false) {
        struct nm_output_piece p;
        ssize_t n;

        assert_int_equal(nm_output_piece_open(dir, stream, from, &p), 0);
        if (first && ret_base)
            *ret_base = p.base;
        from = NM_MAX(from, p.base);
        while ((n = pread(p.fd, text + len, 4 * LIMIT - len - 1, (off_t)(p.head + from - p.base))) > 0) {
            len += (size_t)n;
            from += (uint64_t)n;
        }
        (void)close(p.fd);
        if (p.newest)
            return text;
    }
}

static uint64_t on_disk(const struct fixture *w)
{
    _cleanup_close_ int dir = open_logs(w);

    return nm_output_disk_bytes(dir);
}

/* ---- output that the shim writes -------------------------------------------------------------- */

static void test_output_stays_within_its_limit(void **state)
{
    struct fixture *w = *state;
    _cleanup_free_ char *text = NULL;
    char head[200], name[160];
    uint64_t base = 0;

    w->output_max_bytes = LIMIT;
    shell(w, "seq 100000; echo fine >&2");
    run(w);
    assert_int_equal(w->ended.exit_code, 0);
    assert_int_equal(w->started.output_max_bytes, LIMIT);
    assert_int_equal(w->ended.output_lost_bytes, 0);
    text = read_all(w, "stdout", 0, &base);
    assert_true(base > 0);
    /* the command writes 588895 bytes; the newest of these bytes are kept without a gap */
    assert_int_equal(base + strlen(text), 588895);
    assert_true(strlen(text) >= LIMIT / 2 - NM_OUTPUT_HEAD_MAX && strlen(text) <= LIMIT);
    assert_string_equal(text + strlen(text) - 14, "\n99999\n100000\n");
    assert_true(on_disk(w) <= LIMIT + 3 * 4096);
    (void)snprintf(name, sizeof name, "%s/stdout.%llu", w->logs, (unsigned long long)base);
    {
        _cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC);

        assert_true(read(fd, head, sizeof head) > 20);
    }
    (void)snprintf(name, sizeof name, "[nmd: %llu bytes of output came before this line; only the newest 64 KiB of the "
                                      "log are kept]\n", (unsigned long long)base);
    assert_memory_equal(head, name, strlen(name));
    assert_string_equal(output(w, "stderr"), "fine\n");
}

/* While no output was discarded, the shim adds no line between the first and the second file. */
static void test_below_the_limit_the_shim_adds_no_line_to_the_output(void **state)
{
    struct fixture *w = *state;
    _cleanup_free_ char *text = NULL;
    uint64_t base = 1;
    size_t at = 0;

    w->output_max_bytes = LIMIT;
    shell(w, "seq 10000");
    run(w);
    text = read_all(w, "stdout", 0, &base);
    assert_int_equal(base, 0);
    for (int i = 1; i <= 10000; i++)
        at += (size_t)snprintf(NULL, 0, "%d\n", i);
    assert_int_equal(strlen(text), at);
    assert_null(strchr(text, '['));
}

/* Output that would fill the disk within seconds never uses more space than the limit, and the command is never
 * blocked. */
static void test_fast_output_stays_within_its_limit(void **state)
{
    struct fixture *w = *state;
    uint64_t until = nm_now_usec() + 700 * NM_USEC_PER_MSEC, most = 0;
    struct nm_output_piece p;
    _cleanup_close_ int dir = -EBADF;

    w->output_max_bytes = LIMIT;
    shell(w, "cat /dev/zero & cat /dev/zero >&2");
    assert_int_equal(launch(w), 0);
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_started);
    while (nm_now_usec() < until)
        most = NM_MAX(most, on_disk(w));
    assert_int_equal(kill(w->started.pid, SIGKILL), 0);
    wait_for(w, &w->n_ended);
    assert_true(most > LIMIT && most <= 2 * LIMIT + 6 * 4096);
    dir = open_logs(w);
    assert_int_equal(nm_output_piece_open(dir, "stdout", UINT64_MAX, &p), 0);
    assert_true(p.base > 4 * LIMIT);
    (void)close(p.fd);
}

/* The output of a command is a pipe, so the user can't truncate it or change its mode like a file. Programs can open
 * /dev/stdout as usual. */
static void test_the_command_has_a_pipe_instead_of_a_file(void **state)
{
    struct fixture *w = *state;
    char path[160];
    struct stat st;

    use_user(w, "nobody");
    w->output_max_bytes = LIMIT;
    shell(w, "echo one >/dev/stdout; echo two >/proc/self/fd/1; echo three >/dev/stderr; "
             "truncate -s 1G /proc/self/fd/1 2>/dev/null || echo not cut; : >/dev/stdout; chmod 666 /proc/self/fd/1; "
             "ls -l /proc/self/fd/1 | grep -c pipe");
    run(w);
    assert_string_equal(output(w, "stdout"), "one\ntwo\nnot cut\n1\n");
    assert_string_equal(output(w, "stderr"), "three\n");
    (void)snprintf(path, sizeof path, "%s/stdout", w->logs);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, geteuid());
    assert_int_equal(st.st_mode & 07777, 0600);
}

/* All output that the command wrote before its end is kept. A descendant that continues to write doesn't delay the
 * end. */
static void test_output_before_the_end_is_kept(void **state)
{
    struct fixture *w = *state;
    _cleanup_free_ char *text = NULL;

    w->output_max_bytes = LIMIT;
    shell(w, "sleep 1000 & yes & head -c 30000 /dev/zero | tr '\\0' x >&2; exit 3");
    run(w);
    assert_int_equal(w->ended.exit_code, 3);
    text = read_all(w, "stderr", 0, NULL);
    assert_int_equal(strlen(text), 30000);
    assert_true(w->ended.pid > 1);
    assert_int_equal(kill(-w->ended.pid, SIGKILL), 0); /* `sleep` still runs, in the command's process group */
}

/* A shim may be killed while it is frozen or gets no CPU, before it has written the rest of the output to the file. nmd
 * then reads the rest. */
static void test_output_of_a_killed_shim_is_read_by_nmd(void **state)
{
    struct fixture *w = *state;
    char path[128], text[64];
    uint64_t until = nm_now_usec() + DEADLINE_USEC;
    pid_t shim;

    shell(w, "echo first; while ! [ -e \"$GO\" ]; do sleep 0.01; done; echo last words; exec sleep 1000");
    (void)snprintf(path, sizeof path, "GO=%s/go", w->root);
    w->env[0] = path;
    assert_int_equal(launch(w), 0);
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_started);
    shim = nm_launch_shim_pid(w->launch);
    while (!nm_streq(output(w, "stdout"), "first\n") && nm_now_usec() < until)
        (void)poll(NULL, 0, 5);
    assert_int_equal(kill(shim, SIGSTOP), 0);
    assert_int_equal(close(open(path + 3, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
    do { /* the process executes `sleep` after it has written */
        char comm[64];

        (void)snprintf(comm, sizeof comm, "/proc/%d/comm", w->started.pid);
        assert_int_equal(nm_read_file_at(AT_FDCWD, comm, text, sizeof text, NULL), 0);
    } while (!nm_streq(text, "sleep\n") && nm_now_usec() < until);
    assert_string_equal(output(w, "stdout"), "first\n");
    nm_launch_open_output(w->launch, w->logs);
    assert_int_equal(kill(shim, SIGKILL), 0);
    wait_for(w, &w->n_ended);
    assert_true(w->without_record);
    assert_string_equal(output(w, "stdout"), "first\nlast words\n");
}

/* Returns whether the pipe is empty and the shim waits for more data. The shim has then written all data that it read
 * before, or has counted it as lost. */
static bool all_is_passed_on(const struct fixture *w, int pipe_fd)
{
    char path[32], text[1024];
    int left = 1;

    assert_int_equal(ioctl(pipe_fd, FIONREAD, &left), 0);
    if (left > 0)
        return false;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)nm_launch_shim_pid(w->launch));
    assert_int_equal(nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL), 0);
    return strstr(text, ") S ");
}

static void wait_for_the_shim(struct fixture *w)
{
    uint64_t until = nm_now_usec() + DEADLINE_USEC;
    _cleanup_close_ int fd = -EBADF;
    char path[32];

    wait_for(w, &w->n_started);
    (void)snprintf(path, sizeof path, "/proc/%d/fd/1", (int)w->started.pid);
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    while (!all_is_passed_on(w, fd)) {
        assert_true(nm_now_usec() < until);
        (void)sd_event_run(w->event, 10000);
    }
}

static void put_file(int dir, const char *name, const char *text)
{
    assert_int_equal(nm_write_file_atomic_at(dir, name, text, 0600), 0);
}

/* Returns the drain of a shim that has ended, whose pipe contains this text. */
static struct nm_output_drain make_drain(const struct fixture *w, const char *text)
{
    struct nm_output_drain drain = NM_OUTPUT_DRAIN_NONE;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(nm_write_all(ends[1], text, strlen(text)), 0);
    (void)close(ends[1]);
    drain.fd[0] = ends[0];
    drain.log_dir = strdup(w->logs);
    return drain;
}

/* Another process has truncated the log, so the head of the file is missing. Output is still appended. An empty log
 * gets a new head. */
static void test_output_is_appended_to_a_truncated_log(void **state)
{
    struct fixture *w = *state;
    struct nm_output_drain drain;
    _cleanup_close_ int dir = -EBADF;
    char line[203];

    assert_int_equal(nm_mkdir_p(w->logs, 0700), 0);
    dir = open_logs(w);
    memset(line, 'x', 201);
    strcpy(line + 201, "\n");
    put_file(dir, "stdout.5000", "[nmd: 5000 bytes]\nolder\n");
    put_file(dir, "stdout", line);
    drain = make_drain(w, "last words\n");
    nm_output_drain_write(&drain, LIMIT);
    assert_memory_equal(output(w, "stdout"), line, 202);
    assert_string_equal(output(w, "stdout") + 202, "last words\n");
    put_file(dir, "stdout", "");
    drain = make_drain(w, "last words\n");
    nm_output_drain_write(&drain, LIMIT);
    assert_non_null(strstr(output(w, "stdout"), "[nmd: 5006 bytes of output came before this line"));
    assert_non_null(strstr(output(w, "stdout"), "kept]\nlast words\n"));
}

static unsigned count_descriptors(void)
{
    _cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    while (readdir(dir))
        n++;
    return n;
}

/* If only the descriptors are available that nmd reserves, or fewer, no output is lost. */
static void test_with_few_descriptors_no_output_is_lost(void **state)
{
    struct fixture *w = *state;
    int taken[1024], n, dir;
    struct rlimit rl, few;

    assert_int_equal(nm_mkdir_p(w->logs, 0700), 0);
    dir = open_logs(w);
    put_file(dir, "stdout", "words\n");
    (void)close(dir);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &rl), 0);
    few = (struct rlimit){NM_MIN(rl.rlim_cur, (rlim_t)NM_ARRAY_SIZE(taken)), rl.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (int left = 0; left < 5; left++) {
        struct nm_output_drain drain = make_drain(w, "last words\n");
        unsigned before = count_descriptors();

        for (n = 0; (taken[n] = fcntl(drain.fd[0], F_DUPFD_CLOEXEC, 0)) >= 0;)
            n++;
        for (int i = 0; i < left; i++)
            (void)close(taken[--n]);
        nm_output_drain_write(&drain, LIMIT);
        while (n > 0)
            (void)close(taken[--n]);
        assert_int_equal(count_descriptors(), before - 1); /* the descriptor of the pipe is closed */
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &rl), 0);
    assert_string_equal(output(w, "stdout"), "words\nlast words\nlast words\nlast words\n");
}

/* On a full disk the command runs to its end. The missing output is counted, and the count is reported as soon as it
 * can be written. */
static void test_a_full_disk_does_not_stop_the_command(void **state)
{
    struct fixture *w = *state;
    uint64_t until = nm_now_usec() + DEADLINE_USEC;
    char path[160], go[128];
    int ballast;

    if (geteuid() != 0)
        skip();
    assert_int_equal(nm_mkdir_p(w->logs, 0700), 0);
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", w->logs, "tmpfs", 0, "size=64k,mode=700") < 0)
        skip();
    (void)snprintf(go, sizeof go, "GO=%s/go", w->root);
    w->env[0] = go;
    shell(w, "echo before; head -c 100000 /dev/zero; touch $GO.full; while ! [ -e $GO ]; do sleep 0.01; done; "
             "echo after; exit 7");
    assert_int_equal(launch(w), 0);
    (void)snprintf(path, sizeof path, "%s/ballast", w->logs);
    ballast = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(nm_write_all(ballast, (char[16384]){0}, 16384), 0);
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    (void)snprintf(path, sizeof path, "%s/go.full", w->root);
    while (access(path, F_OK) < 0 && nm_now_usec() < until)
        (void)sd_event_run(w->event, 10000);
    assert_int_equal(access(path, F_OK), 0);
    wait_for_the_shim(w);
    (void)snprintf(path, sizeof path, "%s/ballast", w->logs);
    assert_int_equal(unlink(path), 0);
    (void)close(ballast);
    assert_int_equal(close(open(go + 3, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->ended.exit_code, 7);
    assert_true(w->ended.output_lost_bytes > 10000 && w->ended.output_lost_bytes < 100000);
    (void)snprintf(path, sizeof path, "%s/stdout", w->logs);
    {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        char tail[201] = "", expected[160];
        off_t size = lseek(fd, 0, SEEK_END);

        assert_int_equal(pread(fd, tail, 200, size - 200), 200);
        (void)snprintf(expected, sizeof expected,
                       "\n[nmd: %llu bytes of output are missing here: No space left on device]\nafter\n",
                       (unsigned long long)w->ended.output_lost_bytes);
        assert_string_equal(tail + 200 - strlen(expected), expected);
    }
    assert_int_equal(umount2(w->logs, MNT_DETACH), 0);
}

/* ---- logs that are shortened after the end ---------------------------------------------------- */

static void check_shortened(struct fixture *w, uint64_t total, const char *end)
{
    _cleanup_close_ int dir = open_logs(w);
    _cleanup_free_ char *text = NULL;
    struct nm_output_piece p;
    char head[40], expected[40];
    uint64_t base = 0;

    assert_true(nm_output_shorten(dir, 4000) > 0);
    text = read_all(w, "stdout", 0, &base);
    assert_int_equal(strlen(text), 4000);
    assert_int_equal(base, total - 4000);
    assert_string_equal(text + 4000 - strlen(end), end);
    assert_int_equal(nm_output_piece_open(dir, "stdout", 0, &p), 0);
    (void)snprintf(expected, sizeof expected, "[nmd: %llu bytes of output came ", (unsigned long long)base);
    assert_int_equal(pread(p.fd, head, strlen(expected), 0), strlen(expected));
    assert_memory_equal(head, expected, strlen(expected));
    (void)close(p.fd);
    assert_true(on_disk(w) <= 8192 + 4096 + 2 * 4096); /* two more blocks for the files of times */
    assert_int_equal(nm_output_shorten(dir, 4000), 0); /* succeeds, because the log is short already */
}

static void test_a_log_is_shortened(void **state)
{
    struct fixture *w = *state;

    shell(w, "seq 10000; echo err >&2");
    run(w);
    check_shortened(w, 48894, "9999\n10000\n");
    assert_string_equal(output(w, "stderr"), "err\n");
}

static void test_a_log_of_two_files_is_shortened(void **state)
{
    struct fixture *w = *state;

    w->output_max_bytes = LIMIT;
    shell(w, "seq 100000");
    run(w);
    check_shortened(w, 588895, "99999\n100000\n");
}

static void test_log_files_that_are_links_or_pipes_are_not_opened(void **state)
{
    struct fixture *w = *state;
    _cleanup_close_ int dir = -EBADF;
    struct nm_output_piece p;

    assert_int_equal(nm_mkdir_p(w->logs, 0700), 0);
    dir = open_logs(w);
    assert_int_equal(nm_output_piece_open(dir, "stdout", 0, &p), -ENOENT);
    assert_int_equal(nm_output_shorten(dir, 0), 0);
    assert_int_equal(symlinkat("/etc/passwd", dir, "stdout.5"), 0);
    assert_true(nm_output_piece_open(dir, "stdout", 0, &p) < 0);
    assert_true(nm_output_shorten(dir, 0) < 0);
    assert_int_equal(unlinkat(dir, "stdout.5", 0), 0);
    assert_int_equal(mkfifoat(dir, "stdout", 0600), 0);
    assert_int_equal(nm_output_piece_open(dir, "stdout", 0, &p), -EBADMSG);
}

#define output_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        output_test(test_output_stays_within_its_limit),
        output_test(test_below_the_limit_the_shim_adds_no_line_to_the_output),
        output_test(test_fast_output_stays_within_its_limit),
        output_test(test_the_command_has_a_pipe_instead_of_a_file),
        output_test(test_output_before_the_end_is_kept),
        output_test(test_output_of_a_killed_shim_is_read_by_nmd),
        output_test(test_output_is_appended_to_a_truncated_log),
        output_test(test_with_few_descriptors_no_output_is_lost),
        output_test(test_a_log_is_shortened),
        output_test(test_a_log_of_two_files_is_shortened),
        output_test(test_log_files_that_are_links_or_pipes_are_not_opened),
        output_test(test_a_full_disk_does_not_stop_the_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
