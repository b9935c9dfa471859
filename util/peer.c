/* SPDX-License-Identifier: Apache-2.0 */

/* See peer.h. */

#include "util/peer.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

void nm_peer_name(const struct sockaddr_storage *sa, char *name, size_t size)
{
    struct in6_addr in6 = ((const struct sockaddr_in6 *)sa)->sin6_addr;
    char text[INET6_ADDRSTRLEN] = "?";

    if (sa->ss_family == AF_INET) {
        (void)inet_ntop(AF_INET, &((const struct sockaddr_in *)sa)->sin_addr, text, sizeof text);
    } else if (sa->ss_family == AF_INET6) {
        if (!IN6_IS_ADDR_V4MAPPED(&in6))
            (void)memset(in6.s6_addr + 8, 0, 8);
        (void)inet_ntop(AF_INET6, &in6, text, sizeof text);
    }
    (void)snprintf(name, size, "host %s", text);
}
