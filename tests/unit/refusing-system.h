/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Makes accept4(), pthread_create(), poll(), preadv2() and sendfile() fail with chosen errors, and counts the calls of
 * posix_fadvise(). Include it in one file of a program that wraps these calls. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "util/clock.h"

static atomic_int accept_error, thread_error, poll_error, preadv2_error, sendfile_error; /* 0: the call is real */
static atomic_uint accepts, failed_polls, sequential_advices, drop_advices;
static _Atomic uint64_t accepted_usec[3]; /* times of the last calls of accept4(), the latest first */
static pthread_t test_thread;

int __real_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*f)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*f)(void *), void *arg);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
ssize_t __real_preadv2(int fd, const struct iovec *to, int n, off_t at, int flags);
ssize_t __wrap_preadv2(int fd, const struct iovec *to, int n, off_t at, int flags);
int __real_posix_fadvise(int fd, off_t at, off_t n, int advice);
int __wrap_posix_fadvise(int fd, off_t at, off_t n, int advice);
ssize_t __real_sendfile(int to, int from, off_t *at, size_t n);
ssize_t __wrap_sendfile(int to, int from, off_t *at, size_t n);

ssize_t __wrap_sendfile(int to, int from, off_t *at, size_t n)
{
    const int error = sendfile_error;

    if (error == 0)
        return __real_sendfile(to, from, at, n);
    errno = error;
    return -1;
}

ssize_t __wrap_preadv2(int fd, const struct iovec *to, int n, off_t at, int flags)
{
    const int error = preadv2_error;

    if (error == 0)
        return __real_preadv2(fd, to, n, at, flags);
    errno = error;
    return -1;
}

int __wrap_posix_fadvise(int fd, off_t at, off_t n, int advice)
{
    sequential_advices += advice == POSIX_FADV_SEQUENTIAL;
    drop_advices += advice == POSIX_FADV_DONTNEED;
    return __real_posix_fadvise(fd, at, n, advice);
}

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    const int error = accept_error;

    accepted_usec[2] = accepted_usec[1];
    accepted_usec[1] = accepted_usec[0];
    accepted_usec[0] = nm_now_usec();
    accepts++;
    if (error == 0)
        return __real_accept4(fd, address, size, flags);
    errno = error;
    return -1;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*f)(void *), void *arg)
{
    const int error = thread_error;

    return error != 0 ? error : __real_pthread_create(thread, attr, f, arg);
}

/* Fails only in the server's threads, because the test's thread polls, too. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
    const int error = pthread_equal(pthread_self(), test_thread) ? 0 : poll_error;

    if (error == 0)
        return __real_poll(fds, n, timeout);
    failed_polls++;
    errno = error;
    return -1;
}
