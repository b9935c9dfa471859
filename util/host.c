/* SPDX-License-Identifier: Apache-2.0 */

/* See host.h. */

#include "util/host.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "util/parse.h"

bool nm_host_print_ipv6(const char *text, size_t size, char ret[static NM_HOST_IPV6_SIZE])
{
    const char *zone = memchr(text, '%', size);
    const size_t length = zone ? (size_t)(zone - text) : size;
    char copy[INET6_ADDRSTRLEN];
    struct in6_addr address;

    if (length >= sizeof copy)
        return false;
    *(char *)mempcpy(copy, text, length) = '\0';
    if (inet_pton(AF_INET6, copy, &address) != 1 || !inet_ntop(AF_INET6, &address, copy, sizeof copy))
        return false;
    (void)snprintf(ret, NM_HOST_IPV6_SIZE, "[%s]", copy);
    return true;
}

bool nm_host_is_in(const char *key, const char *host, unsigned *ret_port)
{
    const size_t n = strlen(host);
    uint64_t port;

    if (strncasecmp(key, host, n) != 0 || key[n] != ':' || nm_parse_u64(key + n + 1, &port) < 0 || port > UINT16_MAX)
        return false;
    *ret_port = (unsigned)port;
    return true;
}

/* ---- accounts of clients --------------------------------------------------------------------- */

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
