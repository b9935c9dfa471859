/* SPDX-License-Identifier: Apache-2.0 */

/*
 * nm-shim's own files, with one system call that fails (failing-calls.h). The container's id names the call as
 * CALL:N:ERROR:FILE, because a test can pass no other text to a shim. When the call fails, in the shim or in the
 * command's process before the exec, a byte is written to FILE, which must exist.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/unit/failing-calls.h"

static char plan[256], *file;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_openat(int dir_fd, const char *path, int flags, ...);
int __wrap_openat(int dir_fd, const char *path, int flags, ...);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
int __wrap_asprintf(char **ret, const char *format, ...);
ssize_t __real_read(int fd, void *data, size_t size);
ssize_t __real_write(int fd, const void *data, size_t size);

int __wrap_open(const char *path, int flags, ...)
{
    va_list ap;
    int mode;

    va_start(ap, flags);
    mode = flags & O_CREAT ? va_arg(ap, int) : 0;
    va_end(ap);
    return call_fails("open") ? -1 : __real_open(path, flags, mode);
}

int __wrap_openat(int dir_fd, const char *path, int flags, ...)
{
    va_list ap;
    int mode;

    va_start(ap, flags);
    mode = flags & O_CREAT ? va_arg(ap, int) : 0;
    va_end(ap);
    return call_fails("openat") ? -1 : __real_openat(dir_fd, path, flags, mode);
}

void *__wrap_malloc(size_t size)
{
    return call_fails("malloc") ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return call_fails("calloc") ? NULL : __real_calloc(n, size);
}

int __wrap_asprintf(char **ret, const char *format, ...)
{
    va_list ap;
    int n;

    if (call_fails("asprintf"))
        return -1;
    va_start(ap, format);
    n = vasprintf(ret, format, ap);
    va_end(ap);
    return n;
}

static void note(void)
{
    int fd = __real_open(file, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || __real_write(fd, "!", 1) != 1)
        _exit(99);
    (void)close(fd);
}

__attribute__((constructor)) static void take_plan(void)
{
    int fd = __real_open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = __real_read(fd, plan, sizeof plan - 1);
    char *call = memchr(plan, '\0', n > 0 ? (size_t)n : 0), *nth, *error;

    (void)close(fd);
    nth = call ? strchr(++call, ':') : NULL;
    error = nth ? strchr(nth + 1, ':') : NULL;
    file = error ? strchr(error + 1, ':') : NULL;
    if (!file)
        return;
    *nth++ = *error++ = *file++ = '\0';
    call_has_failed = note;
    fail_call(call, (unsigned)atoi(nth), atoi(error));
}
