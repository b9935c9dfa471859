/* SPDX-License-Identifier: Apache-2.0 */

/* Runs localize/worker/worker.h in a separate process, in a directory that is empty at the start of each test. Include
 * this header after cmocka.h. */

#ifndef TESTS_UNIT_WORKER_RUN_H
#define TESTS_UNIT_WORKER_RUN_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "localize/worker/worker.h"
#include "tests/unit/remove-tree.h"
#include "util/fileio.h"
#include "util/macros.h"

#define MODIFIED "1700000000123" /* mtime of each source file, in milliseconds */
#define RESOURCE(type) "\"type\":\"" type "\",\"timestamp\":" MODIFIED
#define ONCE "\"limits\":{\"attempts\":1},"

static char root[] = "/tmp/nmd-test-localize.XXXXXX";

/* The output of one run of the worker. */
static char output[1 << 16];
static enum nm_worker_status status;

static char *print(const char *format, ...) nm_printf(1, 2);
static char *print(const char *format, ...)
{
    va_list ap;
    char *s;

    va_start(ap, format);
    assert_true(vasprintf(&s, format, ap) >= 0);
    va_end(ap);
    return s;
}

static char *path_of(const char *name)
{
    return print("%s/%s", root, name);
}

/* Makes the empty directory of a test. */
static int set_up_root(void **state)
{
    (void)state;
    assert_int_equal(mkdir(root, 0755) == 0 || errno == EEXIST, 1);
    return 0;
}

static int tear_down_root(void **state)
{
    (void)state;
    return remove_tree(root);
}

static void run(const char *work)
{
    int in[2], out[2], wstatus;
    size_t len = 0;
    pid_t pid;

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(in[1]), (void)close(out[0]);
        _exit((int)nm_worker_run(in[0], out[1]));
    }
    (void)close(in[0]), (void)close(out[1]);
    assert_int_equal(nm_write_all(in[1], work, strlen(work)), 0);
    (void)close(in[1]);
    for (ssize_t n; len < sizeof output - 1 && (n = read(out[0], output + len, sizeof output - 1 - len)) > 0;)
        len += (size_t)n;
    output[len] = '\0';
    (void)close(out[0]);
    assert_int_equal(waitpid(pid, &wstatus, 0), pid);
    assert_true(WIFEXITED(wstatus));
    status = (enum nm_worker_status)WEXITSTATUS(wstatus);
}

/* Fetches one resource to the target 10. "%s" in uri stands for the root directory. `more` contains further keys of the
 * resource, `top` further keys of the work list. */
static void fetch(const char *uri, const char *more, const char *top)
{
    _cleanup_free_ char *work =
        print("{%s\"resources\":[{\"uri\":\"%s\",%s,\"target\":\"%s/10\"}]}", top, uri, more, root);

    run(work);
}

static bool exists(const char *name)
{
    _cleanup_free_ char *path = path_of(name);

    return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static unsigned mode_of(const char *name)
{
    _cleanup_free_ char *path = path_of(name);
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static void assert_done(const char *name, const char *text)
{
    _cleanup_free_ char *path = path_of(name);
    char buf[256] = "";

    if (status != NM_WORKER_DONE)
        fail_msg("failed: %s", output);
    assert_non_null(strstr(output, "\"state\":\"done\""));
    assert_int_equal(nm_read_file_at(AT_FDCWD, path, buf, sizeof buf, NULL), 0);
    assert_string_equal(buf, text);
    assert_false(exists("10_tmp"));
}

static void assert_failed(const char *reason)
{
    assert_int_equal(status, NM_WORKER_SOME_FAILED);
    assert_non_null(strstr(output, "\"state\":\"failed\""));
    if (!strstr(output, reason))
        fail_msg("not for this reason: %s", output);
    assert_false(exists("10"));
    assert_false(exists("10_tmp"));
}

#endif
