/* SPDX-License-Identifier: Apache-2.0 */

/* See system.h. */

#include "nmscale/system.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/inherited.h"
#include "util/parse.h"

#define ARGS_MAX 64
#define KEPT 4096 /* bytes of the command's output that are kept */

extern char **environ;

/* Splits the words at blanks. argv points into *buf. */
static int split(const char *words, const char *const *more, char **buf, char **argv)
{
    size_t n = 0;
    char *save = NULL;

    *buf = strdup(words);
    if (!*buf)
        return -ENOMEM;
    for (char *w = strtok_r(*buf, " \t", &save); w && n < ARGS_MAX; w = strtok_r(NULL, " \t", &save))
        argv[n++] = w;
    for (; *more && n < ARGS_MAX; more++)
        argv[n++] = (char *)*more;
    if (n == 0 || n == ARGS_MAX)
        return -EINVAL;
    argv[n] = NULL;
    return 0;
}

/*
 * Starts the command with default signal handling, because nmscale ignores SIGPIPE, and an ignored signal stays ignored
 * across exec. rmadmin is a shell script that starts a JVM, so both are put into a process group, which can be killed.
 * posix_spawn() is used instead of fork(), because it reports errors of exec, and because curl has threads.
 */
static int spawn(char **argv, int output, pid_t *ret)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    int r;

    if (posix_spawn_file_actions_init(&files) != 0)
        return -ENOMEM;
    if (posix_spawnattr_init(&attr) != 0) {
        (void)posix_spawn_file_actions_destroy(&files);
        return -ENOMEM;
    }
    r = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    r = r ? r : posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    r = r ? r : posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
    r = r ? r : posix_spawnattr_setpgroup(&attr, 0);
    r = r ? r : -nm_inherited_spawn_signals(&attr, POSIX_SPAWN_SETPGROUP);
    r = r ? r : posix_spawnp(ret, argv[0], &files, &attr, argv, environ);
    (void)posix_spawnattr_destroy(&attr);
    (void)posix_spawn_file_actions_destroy(&files);
    return -r;
}

/* Reads the output until its end or until the time-out. Keeps only the last part, because errors are at the end. */
static int read_output(int fd, uint64_t deadline_usec, char *kept, size_t size)
{
    size_t len = 0;

    kept[0] = '\0';
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        uint64_t now = nm_now_usec();
        ssize_t n;

        if (now >= deadline_usec)
            return -ETIMEDOUT;
        if (poll(&p, 1, (int)NM_MIN((deadline_usec - now) / 1000 + 1, UINT64_C(1000))) <= 0)
            continue; /* no data yet, or a signal; signals are checked later */
        /* Discard half of the buffer at a time: moving the buffer for each byte would take quadratic time. */
        if (len > size / 2) {
            memmove(kept, kept + len - size / 2, size / 2);
            len = size / 2;
        }
        n = read(fd, kept + len, size - 1 - len);
        if (n == 0 || (n < 0 && errno != EINTR))
            return 0;
        len += n > 0 ? (size_t)n : 0;
        kept[len] = '\0';
    }
}

/* Returns the last line that isn't empty, with printable characters only, because the output may contain any bytes. */
static const char *last_line(char *text)
{
    char *line = text;

    for (char *p = text; *p; p++) {
        if (*p == '\n' && p[1] && p[1] != '\n')
            line = p + 1;
        else if ((unsigned char)*p < ' ' && *p != '\n')
            *p = ' ';
    }
    line[strcspn(line, "\n")] = '\0';
    return line;
}

/* Waits for the command's end within the time limit. A command that has closed its output may still be running in the
 * background. */
static int reap(pid_t pid, uint64_t deadline_usec, int *ret_status)
{
    for (;;) {
        const struct timespec little = {.tv_nsec = 20 * 1000 * 1000};
        pid_t reaped = waitpid(pid, ret_status, WNOHANG);

        if (reaped != 0)
            return reaped > 0 ? 0 : -errno;
        if (nm_now_usec() >= deadline_usec)
            return -ETIMEDOUT;
        (void)nanosleep(&little, NULL);
    }
}

/* Waits for the command and explains a failure by the last line of its output. Hadoop's commands write pages of log
 * before the line with the error, and their exit status gives little information. */
static int wait_for(pid_t pid, int fd, uint64_t timeout_usec, const char *name, char **ret_message)
{
    uint64_t deadline = nm_now_usec() + timeout_usec;
    char kept[KEPT], duration[32];
    const char *printed;
    int status = 0, r = read_output(fd, deadline, kept, sizeof kept);

    if (r >= 0)
        r = reap(pid, deadline, &status);
    printed = last_line(kept);
    if (r < 0 && r != -ETIMEDOUT)
        return nm_fail(ret_message, r, "can't get the exit status of %s: %s; last line of its output: %s", name,
                       strerror(-r), *printed ? printed : "(no output)");
    if (r < 0) {
        (void)kill(-pid, SIGKILL);
        (void)waitpid(pid, &status, 0);
        (void)nm_format_duration(timeout_usec, duration, sizeof duration);
        return nm_fail(ret_message, r, "%s did not end in %s and was killed; last line of its output: %s", name,
                       duration, *printed ? printed : "(no output)");
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return nm_fail(ret_message, -EREMOTEIO, "%s failed (%s %d); last line of its output: %s", name,
                   WIFEXITED(status) ? "exit status" : "signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), *printed ? printed : "(no output)");
}

int nm_scale_command(const char *words, const char *const *more, uint64_t timeout_usec, char **ret_message)
{
    _cleanup_free_ char *buf = NULL;
    _cleanup_close_ int from = -EBADF, to = -EBADF;
    char *argv[ARGS_MAX + 1];
    int pipes[2], r = split(words, more, &buf, argv);
    pid_t pid;

    if (r < 0)
        return nm_fail(ret_message, r, "'%s' is not a command", words);
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return nm_fail(ret_message, -errno, "can't create a pipe: %s", strerror(errno));
    from = pipes[0];
    to = pipes[1];
    r = spawn(argv, to, &pid);
    if (r < 0)
        return nm_fail(ret_message, r, "%s can't be started: %s", argv[0], strerror(-r));
    /* Close nmscale's own descriptor. Otherwise the pipe would stay open, and read() would never return 0. */
    to = nm_close(to);
    return wait_for(pid, from, timeout_usec, argv[0], ret_message);
}
