/* SPDX-License-Identifier: Apache-2.0 */

/* See peer.h. */

#include "util/peer.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "util/macros.h"

#define LOOPBACK_NET 127u /* the first byte of its addresses */

static void print_in(struct in_addr in, char text[static INET6_ADDRSTRLEN])
{
    if (ntohl(in.s_addr) >> 24 == LOOPBACK_NET)
        in.s_addr = htonl(INADDR_LOOPBACK);
    (void)inet_ntop(AF_INET, &in, text, INET6_ADDRSTRLEN);
}

static void print_in6(struct in6_addr in6, char text[static INET6_ADDRSTRLEN])
{
    struct in_addr in = {.s_addr = htonl(INADDR_LOOPBACK)};

    if (IN6_IS_ADDR_V4MAPPED(&in6))
        (void)memcpy(&in, in6.s6_addr + 12, sizeof in);
    if (IN6_IS_ADDR_V4MAPPED(&in6) || IN6_IS_ADDR_LOOPBACK(&in6)) {
        print_in(in, text);
        return;
    }
    (void)memset(in6.s6_addr + 8, 0, 8);
    (void)inet_ntop(AF_INET6, &in6, text, INET6_ADDRSTRLEN);
}

bool nm_peer_is_loopback(const struct sockaddr_storage *sa)
{
    char name[NM_PEER_NAME_SIZE];

    nm_peer_name(sa, name, sizeof name);
    return nm_streq(name, "host 127.0.0.1");
}

void nm_peer_name(const struct sockaddr_storage *sa, char *name, size_t size)
{
    char text[INET6_ADDRSTRLEN] = "?";

    if (sa->ss_family == AF_INET)
        print_in(((const struct sockaddr_in *)sa)->sin_addr, text);
    else if (sa->ss_family == AF_INET6)
        print_in6(((const struct sockaddr_in6 *)sa)->sin6_addr, text);
    (void)snprintf(name, size, "host %s", text);
}
