/* SPDX-License-Identifier: Apache-2.0 */

/* See host-names.h. This code doesn't use name services, because they may block for any time, and an attacker may
 * influence their answers. */

#include "rpc/local/host-names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/parse.h"

#define SEPARATORS " ,\t\r\n"
#define LINES_MAX 10000u
#define NAMES_MAX 256u
#define PORT_DIGITS_MAX 5u
/* Minimum interval between two reads of the host's addresses, regardless of the number of requests. */
#define ADDRESSES_USEC NM_USEC_PER_SEC

struct nm_names {
    char *names[NAMES_MAX];
    unsigned n;
    struct in6_addr *addresses; /* IPv4 addresses are stored as IPv4-mapped IPv6 addresses */
    size_t n_addresses;
    uint64_t read_usec; /* time of the last read; 0: the addresses haven't been read */
};

struct nm_names *nm_names_free(struct nm_names *n)
{
    if (!n)
        return NULL;
    while (n->n > 0)
        free(n->names[--n->n]);
    free(n->addresses);
    free(n);
    return NULL;
}

/* ---- names -------------------------------------------------------------------------------- */

static bool has_name(const struct nm_names *n, const char *name)
{
    for (unsigned i = 0; i < n->n; i++)
        if (strcasecmp(n->names[i], name) == 0)
            return true;
    return false;
}

static int add(struct nm_names *n, const char *name, size_t size)
{
    _cleanup_free_ char *copy = strndup(name, size);

    if (!copy)
        return -ENOMEM;
    if (size > 0 && copy[size - 1] == '.')
        copy[size - 1] = '\0';
    /* 0.0.0.0 and :: in a configuration mean all addresses; clients don't address them */
    if (!*copy || nm_streq(copy, "0.0.0.0") || nm_streq(copy, "::") || n->n == NAMES_MAX || has_name(n, copy))
        return 0;
    n->names[n->n++] = STEAL_PTR(copy);
    return 0;
}

int nm_names_add(struct nm_names *n, const char *names)
{
    int r = 0;

    for (const char *p = names; r == 0 && *(p += strspn(p, SEPARATORS)); p += strcspn(p, SEPARATORS))
        r = add(n, p, strcspn(p, SEPARATORS));
    return r;
}

/* Adds all names of a line "ADDRESS NAME ALIAS..." that contains the host's name. */
static int add_aliases(struct nm_names *n, const char *line, const char *host)
{
    const char *names = line + strcspn(line, SEPARATORS);

    for (const char *p = names; *(p += strspn(p, SEPARATORS)); p += strcspn(p, SEPARATORS))
        if (strcspn(p, SEPARATORS) == strlen(host) && strncasecmp(p, host, strlen(host)) == 0)
            return nm_names_add(n, names);
    return 0;
}

/* Adds the host's name in each domain of a line "search DOMAIN..." or "domain DOMAIN". */
static int add_domains(struct nm_names *n, const char *line, const char *host)
{
    size_t word = strcspn(line, SEPARATORS);
    int r = 0;

    if (word != 6 || (strncmp(line, "search", word) != 0 && strncmp(line, "domain", word) != 0))
        return 0;
    for (const char *p = line + word; r == 0 && *(p += strspn(p, SEPARATORS)); p += strcspn(p, SEPARATORS)) {
        char name[512];
        int size = snprintf(name, sizeof name, "%s.%.*s", host, (int)NM_MIN(strcspn(p, SEPARATORS), (size_t)255), p);

        r = size < (int)sizeof name ? add(n, name, (size_t)size) : 0;
    }
    return r;
}

/* Adds names from the lines of a file, if it exists. */
static int add_lines(struct nm_names *n, const char *path, const char *host,
                     int (*add_line)(struct nm_names *n, const char *line, const char *host))
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    char line[1024];
    int r = 0;

    for (unsigned i = 0; file && r == 0 && i < LINES_MAX && fgets(line, sizeof line, file); i++) {
        line[strcspn(line, "#;")] = '\0';
        r = add_line(n, line + strspn(line, " \t"), host);
    }
    return r;
}

int nm_names_add_from(struct nm_names *n, const char *host, const char *hosts_file, const char *resolv_file)
{
    char label[HOST_NAME_MAX + 1];
    int r = nm_names_add(n, host);

    (void)snprintf(label, sizeof label, "%.*s", (int)NM_MIN(strcspn(host, "."), (size_t)HOST_NAME_MAX), host);
    if (r == 0)
        r = nm_names_add(n, label);
    if (r == 0)
        r = add_lines(n, hosts_file, host, add_aliases);
    return r < 0 ? r : add_lines(n, resolv_file, label, add_domains);
}

int nm_names_new(struct nm_names **ret)
{
    _cleanup_(nm_names_freep) struct nm_names *n = calloc(1, sizeof *n);
    char host[HOST_NAME_MAX + 1] = "localhost";
    int r = n ? nm_names_add(n, "localhost") : -ENOMEM;

    (void)gethostname(host, sizeof host - 1);
    if (r == 0)
        r = nm_names_add_from(n, host, "/etc/hosts", "/etc/resolv.conf");
    if (r == 0)
        *ret = STEAL_PTR(n);
    return r;
}

/* ---- addresses ---------------------------------------------------------------------------- */

static struct in6_addr mapped(struct in_addr in)
{
    struct in6_addr in6 = {};

    in6.s6_addr[10] = in6.s6_addr[11] = 0xff;
    memcpy(in6.s6_addr + 12, &in, sizeof in);
    return in6;
}

static bool parse_address(const char *text, struct in6_addr *ret)
{
    struct in_addr in;

    if (inet_pton(AF_INET, text, &in) != 1)
        return inet_pton(AF_INET6, text, ret) == 1;
    *ret = mapped(in);
    return true;
}

/* Reads the addresses. Keeps the old addresses if reading fails. */
static void read_addresses(struct nm_names *n)
{
    struct ifaddrs *first;
    struct in6_addr *list;
    size_t count = 0;

    if (getifaddrs(&first) < 0)
        return;
    for (const struct ifaddrs *i = first; i; i = i->ifa_next)
        count++;
    list = calloc(count + 1, sizeof *list);
    count = 0;
    for (const struct ifaddrs *i = first; i && list; i = i->ifa_next) {
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET)
            list[count++] = mapped(((const struct sockaddr_in *)i->ifa_addr)->sin_addr);
        else if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET6)
            list[count++] = ((const struct sockaddr_in6 *)i->ifa_addr)->sin6_addr;
    }
    freeifaddrs(first);
    if (!list)
        return;
    free(n->addresses);
    n->addresses = list;
    n->n_addresses = count;
}

static bool has_address(const struct nm_names *n, const struct in6_addr *address)
{
    for (size_t i = 0; i < n->n_addresses; i++)
        if (IN6_ARE_ADDR_EQUAL(&n->addresses[i], address))
            return true;
    return false;
}

/* Returns whether the address belongs to this host. All addresses of 127.0.0.0/8 belong to it. */
static bool is_own(struct nm_names *n, const struct in6_addr *address)
{
    uint64_t now = nm_now_usec();

    if (IN6_IS_ADDR_LOOPBACK(address) || (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127) ||
        has_address(n, address))
        return true;
    if (n->read_usec != 0 && now - n->read_usec < ADDRESSES_USEC)
        return false;
    n->read_usec = now;
    read_addresses(n);
    return has_address(n, address);
}

/* ---- requested name -------------------------------------------------------------------------- */

/* Returns whether the text is a port from 1 to 65535 or is empty. "HOST:" means the default port of the scheme. */
static bool is_port(const char *text, size_t size)
{
    uint64_t port;

    return size == 0 || (size <= PORT_DIGITS_MAX && nm_parse_sized(text, size, &port) == 0 && port > 0 &&
                         port <= UINT16_MAX);
}

bool nm_names_split(const char *value, size_t value_size, char *ret, size_t size)
{
    const char *end = value + value_size, *last = NULL, *port = end;

    if (value_size > 0 && *value == '[') {
        last = memchr(value, ']', value_size);
        port = last ? last + 1 : end;
        value++;
    } else {
        last = memchr(value, ':', value_size) ?: end;
        port = last;
    }
    if (!last || (port < end && (*port != ':' || !is_port(port + 1, (size_t)(end - port - 1)))))
        return false;
    if (last > value && last[-1] == '.')
        last--;
    if (last == value || (size_t)(last - value) >= size)
        return false;
    *(char *)mempcpy(ret, value, (size_t)(last - value)) = '\0';
    return true;
}

bool nm_names_have(struct nm_names *n, const char *name)
{
    struct in6_addr address;

    return has_name(n, name) || (parse_address(name, &address) && is_own(n, &address));
}

/* ---- browsers on the UNIX socket ---------------------------------------------------------- */

/* Returns whether the origin is nmd's own page. A sandboxed page has the origin "null", which isn't nmd's. */
static bool is_own_page(const char *origin, const char *host)
{
    static const char *const schemes[] = {"http://", "https://"};

    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t n = strlen(schemes[i]);

        if (strncasecmp(origin, schemes[i], n) == 0)
            return host && strcasecmp(origin + n, host) == 0;
    }
    return false;
}

/* Returns whether DNS rebinding can't produce this host. If the host is an address, the page itself came from this
 * host. A name without a dot can't be registered in DNS. */
static bool is_safe(struct nm_names *names, const char *host)
{
    struct in6_addr address;
    char name[256];

    if (!*host)
        return true;
    if (!nm_names_split(host, strlen(host), name, sizeof name))
        return false;
    return !strchr(name, '.') || inet_pton(AF_INET, name, &address) == 1 || nm_names_have(names, name);
}

int nm_browser_check(struct nm_names *names, const char *origin, const char *host)
{
    if (origin && !is_own_page(origin, host))
        return NM_BROWSER_E_ORIGIN;
    return host && !is_safe(names, host) ? NM_BROWSER_E_HOST : 0;
}
