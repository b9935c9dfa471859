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
