/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Simulates several hosts on one. The HTTP server counts all loopback addresses as one host (util/host.h). A test
 * therefore wraps accept4(), so that a connection from 127.0.0.N, N > 1, appears to come from 192.0.2.N. */

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static inline void move_far(uint8_t *bytes)
{
    static const uint8_t loopback[3] = {127, 0, 0}, far[3] = {192, 0, 2};

    if (memcmp(bytes, loopback, sizeof loopback) == 0 && bytes[3] > 1)
        memcpy(bytes, far, sizeof far);
}

static inline void set_far_address(struct sockaddr *sa)
{
    if (sa && sa->sa_family == AF_INET)
        move_far((uint8_t *)&((struct sockaddr_in *)sa)->sin_addr);
    else if (sa && sa->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&((struct sockaddr_in6 *)sa)->sin6_addr))
        move_far(((struct sockaddr_in6 *)sa)->sin6_addr.s6_addr + 12);
}

int __real_accept4(int fd, struct sockaddr *sa, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *sa, socklen_t *size, int flags);

static inline int accept_from_afar(int fd, struct sockaddr *sa, socklen_t *size, int flags)
{
    int r = __real_accept4(fd, sa, size, flags);

    if (r >= 0)
        set_far_address(sa);
    return r;
}
