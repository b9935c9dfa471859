/* SPDX-License-Identifier: Apache-2.0 */

/* See config-warnings.h. */

#include "yarn/launch/config-warnings.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "util/become.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/inherited.h"

#define NOBODY 65534U
#define MOST_USEC (8 * NM_USEC_PER_SEC)
#define WORDS_SIZE 300

/* ---- in the child ---- */

static _Noreturn void become_checker(int program, int words, const char *path, pid_t nmd)
{
    char *argv[] = {(char *)"nm-localizer", (char *)"--check-ca", (char *)path, NULL};
    char *env[] = {(char *)"PATH=/usr/bin:/bin", (char *)"LC_ALL=C.UTF-8", NULL};
    const uid_t uid = geteuid() == 0 ? NOBODY : geteuid();
    const gid_t gid = geteuid() == 0 ? NOBODY : getegid();
    const struct nm_identity who = {.uid = uid, .gid = gid};
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    nm_inherited_end_with(nmd);
    nm_inherited_reset_signals();
    if (null < 0 || dup2(words, STDOUT_FILENO) < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
        _exit(126);
    if (nm_become(&who, &(struct nm_become_options){.no_new_privs = true}) < 0)
        _exit(126);
    (void)fexecve(program, argv, env);
    _exit(127);
}

/* ---- in nmd ---- */

/* Reads the child's output until the child closes it or the time limit is reached. */
static bool read_words(int fd, char ret[static WORDS_SIZE])
{
    const uint64_t end_usec = nm_now_usec() + MOST_USEC;
    size_t size = 0;

    while (size < WORDS_SIZE - 1) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        const uint64_t left_usec = nm_sub_u64(end_usec, nm_now_usec());
        ssize_t n;

        if (left_usec == 0)
            return false;
        if (poll(&p, 1, (int)(left_usec / NM_USEC_PER_MSEC) + 1) <= 0)
            continue;
        n = read(fd, ret + size, WORDS_SIZE - 1 - size);
        if (n <= 0)
            break;
        size += (size_t)n;
    }
    ret[size] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    return true;
}

/* Runs the check. Returns 1 with the child's output. Returns 0 if the file is usable, or if the check could not be run;
 * another part of nmd reports the cause. */
static int run_check(const char *program_path, const char *path, char ret[static WORDS_SIZE])
{
    _cleanup_close_ int program = open(program_path, O_PATH | O_CLOEXEC), read_end = -EBADF, write_end = -EBADF;
    const pid_t self = getpid();
    int pair[2], status = 0;
    bool is_over;
    pid_t pid;

    if (program < 0 || pipe2(pair, O_CLOEXEC) < 0)
        return 0;
    read_end = pair[0];
    write_end = pair[1];
    pid = fork();
    if (pid < 0)
        return 0;
    if (pid == 0)
        become_checker(program, write_end, path, self);
    write_end = nm_close(write_end);
    is_over = read_words(read_end, ret);
    if (!is_over)
        (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 0;
    if (!is_over)
        (void)snprintf(ret, WORDS_SIZE, "loading it took longer than %u s", (unsigned)(MOST_USEC / NM_USEC_PER_SEC));
    else if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
        (void)snprintf(ret, WORDS_SIZE, "nm-localizer failed, so it is unknown whether the file can be loaded");
    else
        return WEXITSTATUS(status) == 1 && *ret;
    return 1;
}

/* Returns the first directory of the file's real path that not all users can enter. NULL: all users can enter all
 * directories, or there is no memory. */
static char *find_closed_dir(const char *path)
{
    _cleanup_free_ char *real = realpath(path, NULL);
    struct stat st;

    for (char *slash = real ? strchr(real + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (stat(real, &st) == 0 && !(st.st_mode & S_IXOTH))
            return STEAL_PTR(real);
        *slash = '/';
    }
    return NULL;
}

char *nm_yarn_certificates_problem(const char *localizer_program, const char *path)
{
    _cleanup_free_ char *dir = NULL;
    char words[WORDS_SIZE], *why = NULL;

    if (run_check(localizer_program, path, words) == 0)
        return NULL;
    if (nm_streq(words, strerror(EACCES)))
        dir = find_closed_dir(path);
    if (!dir)
        return strdup(words);
    if (asprintf(&why, "not all users may enter %s, but the file is read as the user of each container; run chmod o+x "
                       "on this directory", dir) < 0)
        return NULL;
    return why;
}
