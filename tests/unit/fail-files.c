/* SPDX-License-Identifier: Apache-2.0 */

/* See fail-nth.h. This file wraps calls for files, for new processes, and for streams in memory. */

#include "tests/unit/fail-nth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <unistd.h>

/* Wraps a call that returns `failure` and sets errno when it fails. */
#define WRAP_CALL(kind, error, type, failure, name, parameters, ...) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    type __wrap_##name parameters \
    { \
        if (fail_here(kind)) { \
            errno = error; \
            return failure; \
        } \
        return __real_##name(__VA_ARGS__); \
    }

/* ---- files ----------------------------------------------------------------------------------- */

#define WRAP_FILE(name, parameters, ...) WRAP_CALL(FAIL_FILES, EIO, int, -1, name, parameters, __VA_ARGS__)

WRAP_FILE(access, (const char *path, int mode), path, mode)
WRAP_FILE(mkdir, (const char *path, mode_t mode), path, mode)
WRAP_FILE(mkdirat, (int fd, const char *path, mode_t mode), fd, path, mode)
#define WRAP_FSTAT(name) WRAP_FILE(name, (int fd, struct stat *st), fd, st)
#define WRAP_FSTATAT(name) \
    WRAP_FILE(name, (int fd, const char *path, struct stat *st, int flags), fd, path, st, flags)
#define WRAP_FSTATVFS(name) WRAP_FILE(name, (int fd, struct statvfs *ret), fd, ret)
#define WRAP_PREAD(name) \
    WRAP_CALL(FAIL_FILES, EIO, ssize_t, -1, name, (int fd, void *buf, size_t size, off_t at), fd, buf, size, at)

/* With _FILE_OFFSET_BITS=64 the C library names these calls and their structures with a suffix 64. */
WRAP_FSTAT(fstat)
WRAP_FSTAT(fstat64)
WRAP_FSTATAT(fstatat)
WRAP_FSTATAT(fstatat64)
WRAP_FSTATVFS(fstatvfs)
WRAP_FSTATVFS(fstatvfs64)
WRAP_PREAD(pread)
WRAP_PREAD(pread64)
WRAP_FILE(chmod, (const char *path, mode_t mode), path, mode)
WRAP_FILE(fchmod, (int fd, mode_t mode), fd, mode)
WRAP_FILE(fchmodat, (int fd, const char *path, mode_t mode, int flags), fd, path, mode, flags)
WRAP_FILE(fchown, (int fd, uid_t uid, gid_t gid), fd, uid, gid)
WRAP_FILE(renameat, (int from_fd, const char *from, int to_fd, const char *to), from_fd, from, to_fd, to)
WRAP_FILE(unlinkat, (int fd, const char *path, int flags), fd, path, flags)
WRAP_FILE(symlinkat, (const char *target, int fd, const char *path), target, fd, path)
WRAP_CALL(FAIL_FILES, ENOSPC, ssize_t, -1, write, (int fd, const void *buf, size_t size), fd, buf, size)
WRAP_CALL(FAIL_FILES, ENOMEM, DIR *, NULL, fdopendir, (int fd), fd)
WRAP_CALL(FAIL_FILES, EIO, DIR *, NULL, opendir, (const char *path), path)

/* Wraps fcntl(). Only the commands F_DUPFD_CLOEXEC and F_SETFL can fail. Code uses them to set up a descriptor. */
#define WRAP_FCNTL(name) \
    int __real_##name(int fd, int command, ...); \
    int __wrap_##name(int fd, int command, ...); \
    int __wrap_##name(int fd, int command, ...) \
    { \
        void *argument; \
        va_list ap; \
\
        if ((command == F_DUPFD_CLOEXEC || command == F_SETFL) && fail_here(FAIL_FILES)) { \
            errno = EMFILE; \
            return -1; \
        } \
        va_start(ap, command); \
        argument = va_arg(ap, void *); \
        va_end(ap); \
        return __real_##name(fd, command, argument); \
    }

WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)

/* Wraps the variants for large files. fail-nth.c wraps open() and openat(). */
#define WRAP_OPEN(name, parameters, ...) \
    int __real_##name parameters; \
    int __wrap_##name parameters; \
    int __wrap_##name parameters \
    { \
        mode_t mode; \
        va_list ap; \
\
        if (fail_here(FAIL_OPEN)) { \
            errno = EMFILE; \
            return -1; \
        } \
        va_start(ap, flags); \
        mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0; \
        va_end(ap); \
        return __real_##name(__VA_ARGS__, flags, mode); \
    }

WRAP_OPEN(open64, (const char *path, int flags, ...), path)
WRAP_OPEN(openat64, (int dir_fd, const char *path, int flags, ...), dir_fd, path)

/* ---- processes ------------------------------------------------------------------------------- */

pid_t __real_fork(void);
pid_t __wrap_fork(void);

/* In a child only calls of the kind FAIL_CHILD can fail, because the other kinds are counted in the test's process. */
pid_t __wrap_fork(void)
{
    pid_t pid;

    if (fail_here(FAIL_PROCESS)) {
        errno = EAGAIN;
        return -1;
    }
    pid = __real_fork();
    if (pid == 0)
        fail_resume(fail_pause() & FAIL_CHILD);
    return pid;
}

WRAP_CALL(FAIL_PROCESS, EAGAIN, int, -1, pipe2, (int pair[2], int flags), pair, flags)
WRAP_CALL(FAIL_PROCESS, EAGAIN, int, -1, pidfd_open, (pid_t pid, unsigned flags), pid, flags)
WRAP_CALL(FAIL_CHILD, EPERM, int, -1, dup2, (int from, int to), from, to)
WRAP_CALL(FAIL_CHILD, EPERM, int, -1, dup3, (int from, int to, int flags), from, to, flags)
WRAP_CALL(FAIL_CHILD, EPERM, int, -1, chdir, (const char *path), path)

/* ---- streams in memory ----------------------------------------------------------------------- */

FILE *__real_open_memstream(char **text, size_t *size);
FILE *__wrap_open_memstream(char **text, size_t *size);
int __real_fclose(FILE *f);
int __wrap_fclose(FILE *f);

FILE *__wrap_open_memstream(char **text, size_t *size)
{
    if (fail_here(FAIL_MEMORY)) {
        errno = ENOMEM;
        return NULL;
    }
    return __real_open_memstream(text, size);
}

/* A memory stream that could not grow reports the error when it is closed. */
int __wrap_fclose(FILE *f)
{
    bool fails = fail_here(FAIL_MEMORY);
    int r = __real_fclose(f);

    return fails ? EOF : r;
}
