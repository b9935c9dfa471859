/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "util/macros.h"

/* How long a listener rests when accept4(2) fails for want of memory or descriptors: the waiting client keeps the
 * socket readable, so that the loop would otherwise turn without end. */
#define NM_ACCEPT_PAUSE_USEC (100 * NM_USEC_PER_MSEC)

/* Closes a listening socket of our own, also for a child that has not executed its program yet and has a copy of the
 * descriptor: the address is free from now on. Always -EBADF. */
static inline int nm_close_listener(int fd)
{
    if (fd >= 0)
        (void)shutdown(fd, SHUT_RDWR);
    return nm_close(fd);
}

/* Does this error of accept4(2) belong to one connection, so that the next one may succeed at once? The kernel passes
 * pending network errors of the new connection on, see accept(2). */
static inline bool nm_accept_lost_one(int error)
{
    switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case EPERM: /* a firewall's rule */
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
        return true;
    default:
        return false;
    }
}
