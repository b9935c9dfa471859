/* SPDX-License-Identifier: Apache-2.0 */

/* See nmctl-run.h. */

#include "nmctl-run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/macros.h"

void nmctl_start(struct nmctl_started *s, const char *const *argv)
{
    const char *program = getenv("NMCTL");

    s->out = tmpfile();
    s->err = tmpfile();
    assert_true(s->out && s->err);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        /* A shell without job control sets SIGINT to be ignored in background jobs, and nmctl would inherit this. */
        (void)signal(SIGINT, SIG_DFL);
        (void)dup2(fileno(s->out), STDOUT_FILENO);
        (void)dup2(fileno(s->err), STDERR_FILENO);
        (void)execv(program ? program : "nmctl/nmctl", (char *const *)argv);
        _exit(99);
    }
}

static void read_back(FILE *f, char *buf, size_t size)
{
    ssize_t n = pread(fileno(f), buf, size - 1, 0);

    buf[n > 0 ? n : 0] = '\0';
}

void nmctl_finish(struct nmctl_started *s, struct nmctl_result *ret)
{
    uint64_t end = nm_now_usec() + NMCTL_DEADLINE_USEC;
    int status = -1;

    while (waitpid(s->pid, &status, WNOHANG) == 0) {
        if (nm_now_usec() > end) {
            (void)kill(s->pid, SIGKILL);
            fail_msg("nmctl did not end");
        }
        (void)poll(NULL, 0, 1);
    }
    ret->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    read_back(s->out, ret->out, sizeof ret->out);
    read_back(s->err, ret->err, sizeof ret->err);
    (void)fclose(s->out);
    (void)fclose(s->err);
}

void nmctl_await(FILE *f, const char *text)
{
    uint64_t end = nm_now_usec() + NMCTL_DEADLINE_USEC;
    char printed[4096];

    for (;;) {
        read_back(f, printed, sizeof printed);
        if (strstr(printed, text))
            return;
        if (nm_now_usec() > end)
            fail_msg("nmctl did not print '%s', but '%s'", text, printed);
        (void)poll(NULL, 0, 1);
    }
}

void nmctl_run(struct nmctl_result *ret, const char *const *argv)
{
    struct nmctl_started s;

    nmctl_start(&s, argv);
    nmctl_finish(&s, ret);
}

void nmctl_expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

void nmctl_serve(struct fake_nmd *f, const struct fake_exchange *x, size_t n)
{
    fake_nmd_start(f, x, n, 0);
    (void)setenv("NMD_SOCKET", f->path, 1);
}
