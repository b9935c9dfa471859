/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <errno.h>
#include <stdbool.h>

/* How long a listener rests when accept4(2) fails for want of memory or descriptors: the waiting client keeps the
 * socket readable, so that the loop would otherwise turn without end. */
#define NM_ACCEPT_PAUSE_USEC (100 * NM_USEC_PER_MSEC)

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
