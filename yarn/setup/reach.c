/* SPDX-License-Identifier: Apache-2.0 */

/* See reach.h. */

#include "yarn/setup/reach.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>

#include "util/clock.h"
#include "util/fileio.h"
#include "yarn/launch/text.h"

#define HOSTS_MAX 96u
#define ADDRESSES_MAX 16u
#define NAME_SERVERS_MAX 8u
#define PATIENCE_USEC (3 * NM_USEC_PER_SEC) /* for one address */
#define ALL_PATIENCE_USEC (10 * NM_USEC_PER_SEC)

/* ---- hosts -------------------------------------------------------------------------------- */

static int add_host(struct nm_setup_facts *f, struct nm_arena *a, enum nm_setup_role role, const char *name,
                    unsigned port)
{
    struct nm_setup_host *h = &f->hosts[f->n_hosts];

    for (size_t i = 0; i < f->n_hosts; i++)
        if (f->hosts[i].port == port && nm_streq(f->hosts[i].name, name))
            return 0;
    if (f->n_hosts == HOSTS_MAX)
        return 0;
    *h = (struct nm_setup_host){.role = role, .name = nm_yarn_print(a, "%s", name), .port = port,
                                .addresses = nm_arena_alloc(a, ADDRESSES_MAX * sizeof *h->addresses)};
    if (!h->name || !h->addresses)
        return -ENOMEM;
    f->n_hosts++;
    return 0;
}

/* Adds the host of http://HOST:PORT, as sources.c writes it. The host may be in brackets. */
static int add_url(struct nm_setup_facts *f, struct nm_arena *a, const char *url)
{
    const char *host = strstr(url, "://"), *colon = strrchr(url, ':');
    char name[300];
    size_t n;

    if (!host || colon <= host + 3)
        return 0;
    host += 3;
    n = (size_t)(colon - host);
    if (*host == '[' && n >= 2) {
        host++;
        n -= 2;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)NM_MIN(n, sizeof name - 1), host);
    return add_host(f, a, NM_SETUP_NAME_NODE, name, (unsigned)strtoul(colon + 1, NULL, 10));
}

static int add_name_nodes(const struct nm_yarn_settings *s, struct nm_arena *a, struct nm_setup_facts *f)
{
    const char *key;
    json_t *list, *url;
    size_t i;
    int r = 0;

    json_object_foreach(s->name_nodes, key, list) {
        json_array_foreach(list, i, url)
            r = r < 0 ? r : add_url(f, a, json_string_value(url));
    }
    return r;
}

static int add_addresses(const struct nm_yarn_address *list, size_t n, enum nm_setup_role role, struct nm_arena *a,
                         struct nm_setup_facts *f)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = add_host(f, a, role, list[i].host, list[i].port);
    return r;
}

int nm_setup_list_hosts(const struct nm_yarn_settings *s, struct nm_arena *a, struct nm_setup_facts *f)
{
    int r;

    f->hosts = nm_arena_alloc(a, HOSTS_MAX * sizeof *f->hosts);
    if (!f->hosts)
        return -ENOMEM;
    r = s->ha ? add_addresses(s->trackers, s->n_trackers, NM_SETUP_RESOURCE_MANAGER, a, f)
              : add_addresses(&s->tracker, 1, NM_SETUP_RESOURCE_MANAGER, a, f);
    if (r == 0 && s->proxy)
        r = s->ha ? add_addresses(s->schedulers, s->n_schedulers, NM_SETUP_SCHEDULER, a, f)
                  : add_addresses(&s->scheduler, 1, NM_SETUP_SCHEDULER, a, f);
    return r == 0 ? add_name_nodes(s, a, f) : r;
}

/* ---- addresses ---------------------------------------------------------------------------- */

static int keep_address(struct nm_setup_host *h, struct nm_arena *a, const struct addrinfo *i)
{
    char text[NI_MAXHOST];

    if (h->n_addresses == ADDRESSES_MAX ||
        getnameinfo(i->ai_addr, i->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST) != 0)
        return 0;
    text[strcspn(text, "%")] = '\0'; /* the scope of a link-local address; IPAddressAllow= has no interfaces */
    for (size_t k = 0; k < h->n_addresses; k++)
        if (nm_streq(h->addresses[k], text))
            return 0;
    h->addresses[h->n_addresses] = nm_yarn_print(a, "%s", text);
    return h->addresses[h->n_addresses++] ? 0 : -ENOMEM;
}

/* A connection to 0.0.0.0 reaches the own host. */
static int resolve_host(struct nm_setup_host *h, struct nm_arena *a)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int r = 0;

    h->unresolved = getaddrinfo(nm_streq(h->name, "0.0.0.0") ? "127.0.0.1" : h->name, NULL, &hints, &list);
    if (h->unresolved == EAI_MEMORY)
        return -ENOMEM;
    if (h->unresolved != 0)
        return 0;
    for (const struct addrinfo *i = list; r == 0 && i; i = i->ai_next)
        r = keep_address(h, a, i);
    freeaddrinfo(list);
    return r;
}

static bool is_numeric(const char *address)
{
    struct in6_addr out;

    return inet_pton(AF_INET, address, &out) == 1 || inet_pton(AF_INET6, address, &out) == 1;
}

static int read_name_servers(const char *root, struct nm_arena *a, struct nm_setup_facts *f)
{
    static const char key[] = "nameserver";
    _cleanup_close_ int fd = RET_NERRNO(open(*root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    _cleanup_close_ int file = fd < 0 ? fd : nm_open_in_root(fd, "etc/resolv.conf", O_RDONLY | O_NONBLOCK | O_NOCTTY);
    char text[16384];

    f->name_servers = nm_arena_alloc(a, NAME_SERVERS_MAX * sizeof *f->name_servers);
    if (!f->name_servers)
        return -ENOMEM;
    if (file < 0 || nm_pread_file(file, text, sizeof text, NULL) < 0)
        return 0;
    for (char *at = text, *line; f->n_name_servers < NAME_SERVERS_MAX && (line = strsep(&at, "\n"));) {
        char *word = line + strlen(key);

        if (strncmp(line, key, strlen(key)) != 0 || !isblank((unsigned char)*word))
            continue;
        word += strspn(word, " \t");
        word[strcspn(word, " \t%;#\r")] = '\0';
        if (!is_numeric(word))
            continue;
        f->name_servers[f->n_name_servers] = nm_yarn_print(a, "%s", word);
        if (!f->name_servers[f->n_name_servers++])
            return -ENOMEM;
    }
    return 0;
}

/* ---- networks ----------------------------------------------------------------------------- */

static const uint8_t *bytes_of(const struct sockaddr *s, size_t *ret_n)
{
    if (s->sa_family == AF_INET) {
        *ret_n = 4;
        return (const uint8_t *)&((const struct sockaddr_in *)(const void *)s)->sin_addr;
    }
    *ret_n = 16;
    return (const uint8_t *)&((const struct sockaddr_in6 *)(const void *)s)->sin6_addr;
}

const char *nm_setup_common_network(struct nm_arena *a, const struct sockaddr *own, const struct sockaddr *mask,
                                    const struct sockaddr *other)
{
    uint8_t network[16] = {};
    char text[INET6_ADDRSTRLEN];
    unsigned bits = 0;
    size_t n, mask_n, other_n;
    const uint8_t *o = bytes_of(own, &n), *m = bytes_of(mask, &mask_n), *t = bytes_of(other, &other_n);

    if (own->sa_family != other->sa_family || (own->sa_family != AF_INET && own->sa_family != AF_INET6))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if ((o[i] & m[i]) != (t[i] & m[i]))
            return NULL;
        network[i] = o[i] & m[i];
        bits += (unsigned)__builtin_popcount(m[i]);
    }
    return inet_ntop(own->sa_family, network, text, sizeof text) ? nm_yarn_print(a, "%s/%u", text, bits) : NULL;
}

static bool parse_address(const char *text, unsigned port, struct sockaddr_storage *ret, socklen_t *ret_size)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

    *ret = (struct sockaddr_storage){};
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        *ret_size = sizeof *v4;
        return true;
    }
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) != 1)
        return false;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)port);
    *ret_size = sizeof *v6;
    return true;
}

static void look_for(const struct ifaddrs *list, const char *address, struct nm_arena *a, struct nm_setup_facts *f)
{
    struct sockaddr_storage to;
    socklen_t size;

    if (!parse_address(address, 0, &to, &size))
        return;
    for (const struct ifaddrs *i = list; i && !f->network; i = i->ifa_next) {
        if (!i->ifa_addr || !i->ifa_netmask || (i->ifa_flags & IFF_LOOPBACK) || i->ifa_addr->sa_family != to.ss_family)
            continue;
        f->network = nm_setup_common_network(a, i->ifa_addr, i->ifa_netmask, (const struct sockaddr *)&to);
        f->interface = f->network ? nm_yarn_print(a, "%s", i->ifa_name) : NULL;
        f->network = f->interface ? f->network : NULL;
    }
}

/* The network is only suggested to the administrator, so failures are ignored. */
static void find_network(struct nm_arena *a, struct nm_setup_facts *f)
{
    struct ifaddrs *list = NULL;

    if (getifaddrs(&list) < 0)
        return;
    for (size_t i = 0; i < f->n_hosts && !f->network && f->hosts[i].role == NM_SETUP_RESOURCE_MANAGER; i++)
        for (size_t k = 0; k < f->hosts[i].n_addresses && !f->network; k++)
            look_for(list, f->hosts[i].addresses[k], a, f);
    freeifaddrs(list);
}

int nm_setup_resolve(const char *root, struct nm_arena *a, struct nm_setup_facts *f)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < f->n_hosts; i++)
        r = resolve_host(&f->hosts[i], a);
    if (r == 0)
        r = read_name_servers(root, a, f);
    if (r == 0)
        find_network(a, f);
    return r;
}

/* ---- connections -------------------------------------------------------------------------- */

/* Waits for a connection in progress. */
static int wait_for(int fd, uint64_t until_usec)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    socklen_t size = sizeof(int);
    int error = 0, n;

    do
        n = poll(&p, 1, (int)(nm_sub_u64(until_usec, nm_now_usec()) / NM_USEC_PER_MSEC));
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : -ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? -errno : -error;
}

static int try_address(const char *address, unsigned port, uint64_t until_usec)
{
    struct sockaddr_storage to;
    socklen_t size;

    if (!parse_address(address, port, &to, &size))
        return -EINVAL;
    _cleanup_close_ int fd = RET_NERRNO(socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));

    if (fd < 0)
        return fd;
    if (connect(fd, (const struct sockaddr *)&to, size) == 0)
        return 0;
    return errno == EINPROGRESS ? wait_for(fd, until_usec) : -errno;
}

/* Keeps the first error, which is that of the preferred address: getaddrinfo() sorts them. */
static void try_host(struct nm_setup_host *h, uint64_t end_usec)
{
    for (size_t i = 0; i < h->n_addresses && !h->answered; i++) {
        int r = try_address(h->addresses[i], h->port, NM_MIN(end_usec, nm_now_usec() + PATIENCE_USEC));

        if (r == 0)
            h->answered = h->addresses[i];
        else if (i == 0)
            h->error = r;
    }
    if (h->answered)
        h->error = 0;
}

void nm_setup_try_hosts(struct nm_setup_facts *f)
{
    const uint64_t end_usec = nm_now_usec() + ALL_PATIENCE_USEC;

    for (size_t i = 0; i < f->n_hosts; i++)
        try_host(&f->hosts[i], end_usec);
}
