/* SPDX-License-Identifier: Apache-2.0 */

/*
 * nmd's side of the spawner (shim/shim-spawner.c). The process is started for the first launch that can use it, and
 * again if it has ended. nmd waits for its answer, which takes as long as a fork of a small process. A spawner that
 * does not answer is killed. After a few failures in a row, nmd forks all shims itself.
 */

#include "agent/launch/launch-internal.h"

#include <assert.h>
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "agent/launch/shim.h"
#include "util/fault.h"
#include "util/fileio.h"
#include "util/inherited.h"
#include "util/log.h"
#include "util/parse.h"

#define FAILURES_MAX 3
#define ANSWER_SECONDS 1

struct nm_spawner *nm_spawner_new(void)
{
    struct nm_spawner *s = calloc(1, sizeof *s);

    if (s)
        s->socket = -EBADF;
    return s;
}

/* The process has nmd's cgroup, so that it can't be frozen with a container, and ends at once. */
static void stop(struct nm_spawner *s)
{
    s->socket = nm_close(s->socket);
    if (s->pid <= 0)
        return;
    (void)kill(s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    s->pid = 0;
}

struct nm_spawner *nm_spawner_free(struct nm_spawner *s)
{
    if (!s)
        return NULL;
    stop(s);
    nm_accounts_done(&s->accounts);
    free(s);
    return NULL;
}

pid_t nm_spawner_pid(const struct nm_spawner *s)
{
    return s->pid;
}

/* Gives the descriptors their numbers. Copies both first, since each may have the other's number. */
static int arrange(int shim_fd, int socket)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int high[] = {fcntl(socket, F_DUPFD_CLOEXEC, NM_SPAWNER_FD_END),
                        fcntl(shim_fd, F_DUPFD_CLOEXEC, NM_SPAWNER_FD_END)};

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            return -errno;
    for (int i = 0; i < 2; i++)
        if (high[i] < 0 || dup2(high[i], NM_SPAWNER_FD_SOCKET + i) < 0)
            return -errno;
    for (int fd = STDERR_FILENO + 1; fd < NM_SPAWNER_FD_SOCKET; fd++)
        (void)close(fd);
    nm_closefrom(NM_SPAWNER_FD_END);
    return 0;
}

/* Runs in the child. Stays in nmd's session, and thus in its autogroup, which has nmd's priority. */
static _Noreturn void become_spawner(int shim_fd, int socket, pid_t nmd)
{
    char *argv[] = {(char *)NM_SPAWNER_NAME, (char *)NM_SPAWNER_ARG, (char *)"1", NULL};
    char *env[] = {NM_FAULT_VARIABLE, NULL};
    sigset_t all;

    nm_inherited_end_with(nmd);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    nm_inherited_reset_dispositions(); /* also for all its shims */
    if (chdir("/") == 0 && arrange(shim_fd, socket) == 0)
        (void)fexecve(NM_SPAWNER_FD_PROGRAM, argv, env);
    _exit(127);
}

static int begin(struct nm_spawner *s, int shim_fd)
{
    const struct timeval most = {.tv_sec = ANSWER_SECONDS};
    _cleanup_close_ int theirs = -EBADF;
    const pid_t nmd = getpid();
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    s->socket = pair[0];
    theirs = pair[1];
    if (setsockopt(s->socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) < 0 ||
        setsockopt(s->socket, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) < 0 || (s->pid = fork()) < 0) {
        const int r = -errno;

        s->socket = nm_close(s->socket);
        s->pid = 0;
        return r;
    }
    if (s->pid == 0)
        become_spawner(shim_fd, theirs, nmd);
    return 0;
}

static int send_request(int socket, const struct nm_spawn_request *q, const int *fds, size_t n_fds)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(NM_SPAWN_FDS_MAX * sizeof(int))];
    } control = {0};
    struct iovec data = {(void *)q, sizeof *q};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(n_fds * sizeof *fds)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);

    assert(n_fds >= NM_SPAWN_FDS_MIN && n_fds <= NM_SPAWN_FDS_MAX);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(n_fds * sizeof *fds);
    memcpy(CMSG_DATA(c), fds, n_fds * sizeof *fds);
    return sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof *q ? 0 : -errno;
}

static int receive_answer(int socket, int flags, int32_t *ret)
{
    ssize_t n;

    do
        n = recv(socket, ret, sizeof *ret, flags);
    while (n < 0 && errno == EINTR);
    return n == sizeof *ret ? 0 : n < 0 ? -errno : -EPIPE;
}

static bool reads_link(int dir_fd, const char *path, const char *expected)
{
    char target[64];
    ssize_t n = readlinkat(dir_fd, path, target, sizeof target - 1);

    target[n > 0 ? n : 0] = '\0';
    return n > 0 && nm_streq(target, expected);
}

/* Kills and reaps the shim that has this socket. It is a child of this process, but its pid was not received. It waits
 * at its gate, or has not executed its program yet. */
static void end_shim_of(int socket)
{
    char path[64], own[64] = "";
    _cleanup_closedir_ DIR *dir = opendir("/proc");

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", socket);
    if (!dir || readlink(path, own, sizeof own - 1) <= 0)
        return;
    for (struct dirent *e; (e = readdir(dir));) {
        uint64_t pid;

        if (nm_parse_u64(e->d_name, &pid) < 0 || pid == (uint64_t)getpid())
            continue;
        (void)snprintf(path, sizeof path, "%" PRIu64 "/fd/%d", pid, NM_SHIM_FD_SOCKET);
        if (reads_link(dirfd(dir), path, own) && kill((pid_t)pid, SIGKILL) == 0)
            (void)waitpid((pid_t)pid, NULL, 0);
    }
}

/* Ends a spawner that has not answered. Then it can't create a shim any more, and there is an answer, or a shim without
 * an answer, or neither. */
static int give_up(struct nm_spawner *s, int error, int shim_socket, int32_t *ret_answer)
{
    const int socket = fcntl(s->socket, F_DUPFD_CLOEXEC, 0);
    int r;

    nm_warning("the process that creates shims has not answered: %s; nmd forks the shim itself", strerror(-error));
    s->n_failures++;
    stop(s);
    r = socket >= 0 ? receive_answer(socket, MSG_DONTWAIT, ret_answer) : error;
    (void)nm_close(socket);
    if (r < 0)
        end_shim_of(shim_socket);
    return r;
}

int nm_spawner_spawn(struct nm_spawner *s, int shim_fd, const struct nm_spawn_request *q, const int *fds, size_t n_fds,
                     pid_t *ret)
{
    int32_t answer;
    int r;

    if (s->n_failures >= FAILURES_MAX || (s->socket < 0 && begin(s, shim_fd) < 0))
        return NM_SPAWNER_E_NO_SHIM;
    if (send_request(s->socket, q, fds, n_fds) < 0) {
        s->n_failures++;
        stop(s);
        return NM_SPAWNER_E_NO_SHIM;
    }
    r = receive_answer(s->socket, 0, &answer);
    if (r < 0 && give_up(s, r, fds[0], &answer) < 0)
        return NM_SPAWNER_E_NO_SHIM;
    if (answer <= 0)
        return NM_SPAWNER_E_NO_SHIM;
    if (r >= 0)
        s->n_failures = 0;
    *ret = answer;
    return 0;
}
