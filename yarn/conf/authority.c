/* SPDX-License-Identifier: Apache-2.0 */

/* See settings-parts.h. */

#include "yarn/conf/settings-parts.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "util/host.h"
#include "util/macros.h"
#include "util/parse.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

bool nm_authority_is_wildcard(const struct nm_authority *a)
{
    static const char *const words[] = {"", "0.0.0.0", "[::]", "[::ffff:0.0.0.0]"};

    for (size_t i = 0; i < NM_ARRAY_SIZE(words); i++)
        if (nm_streq(a->host, words[i]))
            return true;
    return false;
}

/* Returns whether the first `size` bytes of the text are a valid host name. */
static bool is_name(const char *text, size_t size)
{
    return size > 0 && strspn(text, LETTERS "0123456789.-_") >= size;
}

/* Parses an IPv6 address. As in Java's URI, a '%' and the name or number of a network interface may follow the
 * address. */
static bool read_ipv6(const char *text, size_t size, struct nm_authority *a)
{
    const char *zone = memchr(text, '%', size);
    const size_t n = zone ? size - (size_t)(zone - text) : 0;
    char host[NM_HOST_IPV6_SIZE];

    if ((zone && !is_name(zone + 1, n - 1)) || !nm_host_print_ipv6(text, size, host) ||
        n + sizeof host > sizeof a->target)
        return false;
    (void)snprintf(a->host, sizeof a->host, "%s", host);
    (void)snprintf(a->target, sizeof a->target, "%.*s%.*s]", (int)strlen(host) - 1, host, (int)n, zone ?: "");
    return true;
}

static bool read_name(const char *text, size_t size, struct nm_authority *a)
{
    if (!is_name(text, size) || size >= sizeof a->host)
        return false;
    (void)snprintf(a->host, sizeof a->host, "%.*s", (int)size, text);
    (void)snprintf(a->target, sizeof a->target, "%.*s", (int)size, text);
    return true;
}

static bool read_host(const char *text, size_t size, struct nm_authority *a)
{
    if (*text == '[')
        return size > 2 && text[size - 1] == ']' && read_ipv6(text + 1, size - 2, a);
    return a->is_bare ? read_ipv6(text, size, a) : read_name(text, size, a);
}

/* Parses the port after the colon. As in Java's URI, the port may be empty ("HOST:"), which means no port, and may have
 * leading zeros. */
static bool read_port(const char *text, size_t size, unsigned *ret)
{
    char digits[8] = "";
    uint64_t port = 0;

    for (; size > 1 && *text == '0'; size--)
        text++;
    if (size >= sizeof digits)
        return false;
    memcpy(digits, text, size);
    if (size > 0 && (nm_parse_u64(digits, &port) < 0 || port == 0 || port > UINT16_MAX))
        return false;
    *ret = (unsigned)port;
    return true;
}

/* Parses the first `size` bytes of the text as an address. The host becomes a part of URLs, so it must not contain
 * invalid characters. Otherwise each container that needs a file from this host would fail, without an earlier
 * warning. */
static bool read_address(const char *text, size_t size, struct nm_authority *ret)
{
    const char *end = text + size, *bracket = size > 0 && *text == '[' ? memchr(text, ']', size) : NULL;
    const char *colon = memchr(bracket ?: text, ':', (size_t)(end - (bracket ?: text)));
    const bool is_bare = !bracket && colon && memchr(colon + 1, ':', (size_t)(end - colon - 1));
    const size_t n = is_bare || !colon ? size : (size_t)(colon - text);
    struct nm_authority a = {.is_bare = is_bare};

    if (!read_host(text, n, &a) || (n < size && !read_port(text + n + 1, size - n - 1, &a.port)))
        return false;
    *ret = a;
    return true;
}

bool nm_authority_read(const char *text, struct nm_authority *ret)
{
    const size_t scheme = strspn(text, LETTERS "0123456789+.-");
    const bool has_scheme = scheme > 0 && strchr(LETTERS, *text) && strncmp(text + scheme, "://", 3) == 0;

    text += has_scheme ? scheme + 3 : 0;
    return read_address(text, has_scheme ? strcspn(text, "/") : strlen(text), ret);
}

bool nm_authority_read_uri(const char *uri, const char *scheme, struct nm_authority *ret)
{
    const size_t n = strlen(scheme);
    const char *at, *start;

    if (strncasecmp(uri, scheme, n) != 0 || strncmp(uri + n, "://", 3) != 0)
        return false;
    start = uri + n + 3;
    at = memchr(start, '@', strcspn(start, "/"));
    start = at ? at + 1 : start;
    return read_address(start, strcspn(start, "/"), ret);
}
