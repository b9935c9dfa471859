/* SPDX-License-Identifier: Apache-2.0 */

/* See peer.h. */

#include "util/peer.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define LOOPBACK_NET 127u /* the first byte of loopback addresses */

static bool find_in(const struct sockaddr_storage *sa, struct in_addr *ret)
{
    const struct in6_addr *in6 = &((const struct sockaddr_in6 *)sa)->sin6_addr;

    if (sa->ss_family == AF_INET)
        *ret = ((const struct sockaddr_in *)sa)->sin_addr;
    else if (sa->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(in6))
        (void)memcpy(ret, in6->s6_addr + 12, sizeof *ret);
    else
        return false;
    return true;
}

bool nm_peer_is_loopback(const struct sockaddr_storage *sa)
{
    struct in_addr in;

    if (find_in(sa, &in))
        return ntohl(in.s_addr) >> 24 == LOOPBACK_NET;
    return sa->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)sa)->sin6_addr);
}

void nm_peer_name(const struct sockaddr_storage *sa, char *name, size_t size)
{
    char text[INET6_ADDRSTRLEN] = "?";
    struct in_addr in;

    if (find_in(sa, &in)) {
        (void)inet_ntop(AF_INET, &in, text, sizeof text);
    } else if (sa->ss_family == AF_INET6) {
        struct in6_addr in6 = ((const struct sockaddr_in6 *)sa)->sin6_addr;

        (void)memset(in6.s6_addr + 8, 0, 8);
        (void)inet_ntop(AF_INET6, &in6, text, sizeof text);
    }
    (void)snprintf(name, size, "host %s", text);
}

void nm_peer_host_name(const struct sockaddr_storage *sa, char *name, size_t size)
{
    if (nm_peer_is_loopback(sa))
        (void)snprintf(name, size, "host 127.0.0.1");
    else
        nm_peer_name(sa, name, size);
}
