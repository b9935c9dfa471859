/* SPDX-License-Identifier: Apache-2.0 */

/* See failing-calls.h. This file uses no library but libc, because it is also linked with nm-shim's own files. */

#include "tests/unit/failing-calls.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>

static const char *armed = "";
static int failing_errno;
static unsigned *calls_left; /* number of calls until the failing call; shared with child processes */

void (*call_has_failed)(void);

void fail_call(const char *name, unsigned n, int error)
{
    if (!calls_left)
        calls_left = mmap(NULL, sizeof *calls_left, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    armed = name;
    *calls_left = n;
    failing_errno = error;
}

bool fail_call_stop(void)
{
    armed = "";
    return *calls_left == 0;
}

bool call_fails(const char *name)
{
    if (strcmp(armed, name) != 0 || *calls_left == 0 || __atomic_sub_fetch(calls_left, 1, __ATOMIC_RELAXED) > 0)
        return false;
    if (call_has_failed)
        call_has_failed();
    errno = failing_errno;
    return true;
}

#define WRAP(type, failure, name, parameters, ...) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    type __wrap_##name parameters \
    { \
        return call_fails(#name) ? (failure) : __real_##name(__VA_ARGS__); \
    }
#define WRAP_INT(name, parameters, ...) WRAP(int, -1, name, parameters, __VA_ARGS__)
#define WRAP_SIZE(name, parameters, ...) WRAP(ssize_t, -1, name, parameters, __VA_ARGS__)

WRAP_INT(chdir, (const char *path), path)
WRAP_INT(dup2, (int from, int to), from, to)
WRAP_INT(dup3, (int from, int to, int flags), from, to, flags)
WRAP_INT(fchdir, (int fd), fd)
WRAP_INT(fchown, (int fd, uid_t uid, gid_t gid), fd, uid, gid)
WRAP_INT(fstat, (int fd, struct stat *st), fd, st)
WRAP_INT(fstatfs, (int fd, struct statfs *st), fd, st)
WRAP_INT(fsync, (int fd), fd)
WRAP_INT(ftruncate, (int fd, off_t size), fd, size)
WRAP_INT(getresuid, (uid_t *r, uid_t *e, uid_t *s), r, e, s)
WRAP_INT(getrlimit, (int what, struct rlimit *limit), what, limit)
WRAP_INT(linkat, (int from_fd, const char *from, int to_fd, const char *to, int flags), from_fd, from, to_fd, to, flags)
WRAP_INT(memfd_create, (const char *name, unsigned flags), name, flags)
WRAP_INT(mount, (const char *what, const char *where, const char *type, unsigned long flags, const void *data), what,
         where, type, flags, data)
WRAP_INT(pidfd_open, (pid_t pid, unsigned flags), pid, flags)
WRAP_INT(pipe2, (int ends[2], int flags), ends, flags)
WRAP_INT(poll, (struct pollfd *p, nfds_t n, int timeout), p, n, timeout)
WRAP_INT(renameat, (int from_fd, const char *from, int to_fd, const char *to), from_fd, from, to_fd, to)
WRAP_INT(setgroups, (size_t n, const gid_t *groups), n, groups)
WRAP_INT(setns, (int fd, int kind), fd, kind)
WRAP_INT(setresgid, (gid_t r, gid_t e, gid_t s), r, e, s)
WRAP_INT(setresuid, (uid_t r, uid_t e, uid_t s), r, e, s)
WRAP_INT(setsockopt, (int fd, int level, int name, const void *value, socklen_t size), fd, level, name, value, size)
WRAP_INT(signalfd, (int fd, const sigset_t *mask, int flags), fd, mask, flags)
WRAP_INT(socketpair, (int domain, int type, int protocol, int pair[2]), domain, type, protocol, pair)
WRAP_INT(unlinkat, (int dir_fd, const char *name, int flags), dir_fd, name, flags)
WRAP_INT(unshare, (int flags), flags)
WRAP(pid_t, -1, fork, (void))
WRAP(pid_t, -1, setsid, (void))
WRAP(pid_t, -1, waitpid, (pid_t pid, int *status, int options), pid, status, options)
WRAP(pid_t, -1, wait4, (pid_t pid, int *status, int options, struct rusage *usage), pid, status, options, usage)
WRAP_SIZE(pread, (int fd, void *data, size_t size, off_t at), fd, data, size, at)
WRAP_SIZE(pwrite, (int fd, const void *data, size_t size, off_t at), fd, data, size, at)
WRAP_SIZE(read, (int fd, void *data, size_t size), fd, data, size)
WRAP_SIZE(recv, (int fd, void *data, size_t size, int flags), fd, data, size, flags)
WRAP_SIZE(send, (int fd, const void *data, size_t size, int flags), fd, data, size, flags)
WRAP_SIZE(sendmsg, (int fd, const struct msghdr *message, int flags), fd, message, flags)
WRAP_SIZE(write, (int fd, const void *data, size_t size), fd, data, size)

/* Wraps variadic calls, whose arguments are not larger than a machine word. The wrappers take only as many arguments as
 * are passed in registers, because reading more arguments would read the caller's stack. */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __real_prctl(int option, ...);
int __wrap_prctl(int option, ...);

#define READ_ARGS(last, n) \
    long word[n]; \
    va_list ap; \
    va_start(ap, last); \
    for (int i = 0; i < (n); i++) \
        word[i] = va_arg(ap, long); \
    va_end(ap)

long __wrap_syscall(long number, ...)
{
    READ_ARGS(number, 5);
    return call_fails("syscall") ? -1 : __real_syscall(number, word[0], word[1], word[2], word[3], word[4]);
}

int __wrap_fcntl(int fd, int command, ...)
{
    READ_ARGS(command, 1);
    return call_fails("fcntl") ? -1 : __real_fcntl(fd, command, word[0]);
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    READ_ARGS(request, 1);
    return call_fails("ioctl") ? -1 : __real_ioctl(fd, request, word[0]);
}

int __wrap_prctl(int option, ...)
{
    READ_ARGS(option, 4);
    return call_fails("prctl") ? -1 : __real_prctl(option, word[0], word[1], word[2], word[3]);
}
