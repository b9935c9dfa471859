/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "util/macros.h"

/* Pause of a listener after accept4(2) has failed for lack of memory or descriptors. The waiting client keeps the
 * socket readable, so without a pause the event loop would spin. */
#define NM_ACCEPT_PAUSE_USEC (100 * NM_USEC_PER_MSEC)

/* Closes a listening socket of this process and frees its address. shutdown() ends the listening even if a child that
 * hasn't executed its program yet holds a copy of the descriptor. Always returns -EBADF. */
static inline int nm_close_listener(int fd)
{
    if (fd >= 0)
        (void)shutdown(fd, SHUT_RDWR);
    return nm_close(fd);
}

/* Returns whether this error of accept4(2) concerns one connection only, so that the next call may succeed immediately.
 * accept4(2) also returns pending network errors of the new connection. */
static inline bool nm_accept_error_is_transient(int error)
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
