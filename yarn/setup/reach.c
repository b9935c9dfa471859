/* SPDX-License-Identifier: Apache-2.0 */

/* See facts.h and facts-parts.h. */

#include "yarn/setup/facts-parts.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>

#include "util/clock.h"
#include "util/fileio.h"
#include "util/parse.h"

#define HOSTS_MAX 96u
#define ADDRESSES_MAX 16u
#define NAME_SERVERS_MAX 8u
#define PATIENCE_USEC (3 * NM_USEC_PER_SEC) /* time limit for connecting to one address */
#define ALL_PATIENCE_USEC (10 * NM_USEC_PER_SEC)
#define PROGRESS_SEC 1u

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
    *h = (struct nm_setup_host){.role = role, .name = nm_arena_print(a, "%s", name), .port = port,
                                .addresses = nm_arena_alloc(a, ADDRESSES_MAX * sizeof *h->addresses)};
    if (!h->name || !h->addresses)
        return -ENOMEM;
    f->n_hosts++;
    return 0;
}

/* Adds the host of a URL http://HOST:PORT, as sources.c writes it. An IPv6 address is in brackets. */
static int add_url(struct nm_setup_facts *f, struct nm_arena *a, const char *url)
{
    const char *host = strstr(url, "://"), *colon = strrchr(url, ':');
    char name[300];
    uint64_t port;
    size_t n;

    if (!host || colon <= host + 3 || nm_parse_u64(colon + 1, &port) < 0 || port > UINT16_MAX)
        return 0;
    host += 3;
    n = (size_t)(colon - host);
    if (*host == '[' && n >= 2) {
        host++;
        n -= 2;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)NM_MIN(n, sizeof name - 1), host);
    return add_host(f, a, NM_SETUP_NAME_NODE, name, (unsigned)port);
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

static bool is_numeric(const char *address)
{
    struct in6_addr out;

    return inet_pton(AF_INET, address, &out) == 1 || inet_pton(AF_INET6, address, &out) == 1;
}

static int keep_address(struct nm_setup_host *h, struct nm_arena *a, const struct addrinfo *i)
{
    char text[NI_MAXHOST];

    if (h->n_addresses == ADDRESSES_MAX ||
        getnameinfo(i->ai_addr, i->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST) != 0)
        return 0;
    text[strcspn(text, "%")] = '\0'; /* remove the scope of the address, which IPAddressAllow= doesn't accept */
    for (size_t k = 0; k < h->n_addresses; k++)
        if (nm_streq(h->addresses[k], text))
            return 0;
    h->addresses[h->n_addresses] = nm_arena_print(a, "%s", text);
    return h->addresses[h->n_addresses++] ? 0 : -ENOMEM;
}

/* ---- names -------------------------------------------------------------------------------- */

struct lookup {
    struct lookups *all;
    const char *name;
    struct addrinfo *list;
    int error; /* the result of getaddrinfo() */
    bool is_done, has_thread;
    pthread_t thread;
};

/* All lookups. They run in parallel, because the lookup of a name takes ten seconds if the name server doesn't
 * answer. */
struct lookups {
    pthread_mutex_t mutex;
    pthread_cond_t ends;
    struct lookup list[HOSTS_MAX];
    size_t n;
};

static void *look_up(void *userdata)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct lookup *l = userdata;
    struct addrinfo *list = NULL;
    const int error = getaddrinfo(l->name, NULL, &hints, &list);

    (void)pthread_mutex_lock(&l->all->mutex);
    l->error = error;
    l->list = error == 0 ? list : NULL;
    l->is_done = true;
    (void)pthread_cond_signal(&l->all->ends);
    (void)pthread_mutex_unlock(&l->all->mutex);
    return NULL;
}

/* Returns the name to look up. The address 0.0.0.0 is replaced, because a connection to 0.0.0.0 reaches this host
 * itself. */
static const char *name_to_look_up(const struct nm_setup_host *h)
{
    return nm_streq(h->name, "0.0.0.0") ? "127.0.0.1" : h->name;
}

static struct lookup *find_lookup(struct lookups *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (nm_streq(all->list[i].name, name))
            return &all->list[i];
    return NULL;
}

/* Starts the lookups. A numeric address needs no lookup. If a thread can't be created, the lookup is done in this
 * thread. */
static void start_lookups(struct lookups *all, const struct nm_setup_facts *f)
{
    for (size_t i = 0; i < f->n_hosts; i++) {
        const char *name = name_to_look_up(&f->hosts[i]);
        struct lookup *l = &all->list[all->n];

        if (find_lookup(all, name))
            continue;
        *l = (struct lookup){.all = all, .name = name};
        all->n++;
        l->has_thread = !is_numeric(name) && pthread_create(&l->thread, NULL, look_up, l) == 0;
        if (!l->has_thread)
            look_up(l);
    }
}

static void print_lookup(const struct nm_setup_request *w, const struct lookups *all, const struct lookup *waiting)
{
    char text[400], shown[200];
    size_t n_done = 0;

    for (size_t i = 0; i < all->n; i++)
        n_done += all->list[i].is_done;
    (void)snprintf(text, sizeof text, "resolving the name %s; %zu of %zu names are done",
                   nm_yarn_conf_printable(waiting->name, shown, sizeof shown), n_done, all->n);
    w->progress(text);
}

static void wait_for_lookups(const struct nm_setup_request *w, struct lookups *all)
{
    struct timespec at;
    size_t i = 0;

    (void)clock_gettime(CLOCK_REALTIME, &at);
    (void)pthread_mutex_lock(&all->mutex);
    for (at.tv_sec += PROGRESS_SEC; i < all->n;) {
        if (all->list[i].is_done) {
            i++;
        } else if (pthread_cond_timedwait(&all->ends, &all->mutex, &at) != 0) {
            if (w->progress)
                print_lookup(w, all, &all->list[i]);
            (void)clock_gettime(CLOCK_REALTIME, &at);
            at.tv_sec += PROGRESS_SEC;
        }
    }
    (void)pthread_mutex_unlock(&all->mutex);
    for (i = 0; i < all->n; i++)
        if (all->list[i].has_thread)
            (void)pthread_join(all->list[i].thread, NULL);
}

static int take_addresses(const struct lookup *l, struct nm_arena *a, struct nm_setup_host *h)
{
    int r = l->error == EAI_MEMORY ? -ENOMEM : 0;

    h->unresolved = l->error;
    for (const struct addrinfo *i = l->list; r == 0 && i; i = i->ai_next)
        r = keep_address(h, a, i);
    return r;
}

static int resolve_hosts(const struct nm_setup_request *w, struct nm_arena *a, struct nm_setup_facts *f)
{
    _cleanup_free_ struct lookups *all = calloc(1, sizeof *all);
    int r = 0;

    if (!all)
        return -ENOMEM;
    (void)pthread_mutex_init(&all->mutex, NULL);
    (void)pthread_cond_init(&all->ends, NULL);
    start_lookups(all, f);
    wait_for_lookups(w, all);
    for (size_t i = 0; r == 0 && i < f->n_hosts; i++)
        r = take_addresses(find_lookup(all, name_to_look_up(&f->hosts[i])), a, &f->hosts[i]);
    for (size_t i = 0; i < all->n; i++)
        if (all->list[i].list)
            freeaddrinfo(all->list[i].list);
    (void)pthread_cond_destroy(&all->ends);
    (void)pthread_mutex_destroy(&all->mutex);
    return r;
}

/* ---- name servers ------------------------------------------------------------------------- */

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
        f->name_servers[f->n_name_servers] = nm_arena_print(a, "%s", word);
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
    return inet_ntop(own->sa_family, network, text, sizeof text) ? nm_arena_print(a, "%s/%u", text, bits) : NULL;
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

static void match_interface(const struct ifaddrs *list, const char *address, struct nm_arena *a,
                            struct nm_setup_facts *f)
{
    struct sockaddr_storage to;
    socklen_t size;

    if (!parse_address(address, 0, &to, &size))
        return;
    for (const struct ifaddrs *i = list; i && !f->network; i = i->ifa_next) {
        if (!i->ifa_addr || !i->ifa_netmask || (i->ifa_flags & IFF_LOOPBACK) || i->ifa_addr->sa_family != to.ss_family)
            continue;
        f->network = nm_setup_common_network(a, i->ifa_addr, i->ifa_netmask, (const struct sockaddr *)&to);
        f->interface = f->network ? nm_arena_print(a, "%s", i->ifa_name) : NULL;
        f->network = f->interface ? f->network : NULL;
    }
}

/* Finds the network of this host that contains a ResourceManager. Failures are ignored, because the network is only a
 * suggestion for the administrator. */
static void find_network(struct nm_arena *a, struct nm_setup_facts *f)
{
    struct ifaddrs *list = NULL;

    if (getifaddrs(&list) < 0)
        return;
    for (size_t i = 0; i < f->n_hosts && !f->network && f->hosts[i].role == NM_SETUP_RESOURCE_MANAGER; i++)
        for (size_t k = 0; k < f->hosts[i].n_addresses && !f->network; k++)
            match_interface(list, f->hosts[i].addresses[k], a, f);
    freeifaddrs(list);
}

int nm_setup_resolve(const struct nm_setup_request *w, struct nm_arena *a, struct nm_setup_facts *f)
{
    int r = resolve_hosts(w, a, f);

    if (r == 0)
        r = read_name_servers(w->root, a, f);
    if (r == 0)
        find_network(a, f);
    return r;
}

/* ---- connections -------------------------------------------------------------------------- */

/* The connection attempts to one host. They are made one after the other, in the order of addresses that getaddrinfo()
 * has returned. */
struct attempt {
    struct nm_setup_host *host;
    size_t at; /* index of the address that is being tried */
    int fd;    /* negative: no attempt is in progress, because all addresses were tried */
    uint64_t until_usec;
};

/* Starts a connection. Returns -EINPROGRESS with *ret_fd, or the result if it is known immediately. */
static int start_connection(const char *address, unsigned port, int *ret_fd)
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
    if (errno != EINPROGRESS)
        return -errno;
    *ret_fd = STEAL_FD(fd);
    return -EINPROGRESS;
}

/* Records the result for an address. If all addresses fail, the error of the first address is kept, because this
 * address is the preferred one. */
static void end_address(struct attempt *t, int r)
{
    if (r == 0) {
        t->host->answered = t->host->addresses[t->at];
        t->host->error = 0;
    } else if (t->at == 0) {
        t->host->error = r;
    }
    t->at++;
}

static void try_next_address(struct attempt *t, uint64_t end_usec)
{
    t->fd = -EBADF;
    while (t->at < t->host->n_addresses && !t->host->answered) {
        int r = start_connection(t->host->addresses[t->at], t->host->port, &t->fd);

        t->until_usec = NM_MIN(end_usec, nm_now_usec() + PATIENCE_USEC);
        if (r == -EINPROGRESS)
            return;
        end_address(t, r);
    }
}

static void continue_attempt(struct attempt *t, bool is_ready, uint64_t end_usec)
{
    socklen_t size = sizeof(int);
    int error = ETIMEDOUT;

    if (is_ready && getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        error = errno;
    (void)close(t->fd);
    end_address(t, -error);
    try_next_address(t, end_usec);
}

/* Returns the number of attempts in progress. *ret_first is the first of these attempts. Reduces *until_usec to the
 * earliest time at which one of these attempts times out. */
static size_t list_waiting(const struct attempt *list, size_t n, struct pollfd *ret, const struct attempt **ret_first,
                           uint64_t *until_usec)
{
    size_t n_waiting = 0;

    for (size_t i = 0; i < n; i++) {
        ret[i] = (struct pollfd){.fd = list[i].fd, .events = POLLOUT}; /* poll() ignores negative descriptors */
        if (list[i].fd < 0)
            continue;
        if (n_waiting++ == 0)
            *ret_first = &list[i];
        *until_usec = NM_MIN(*until_usec, list[i].until_usec);
    }
    return n_waiting;
}

static void print_waiting(const struct nm_setup_request *w, const struct nm_setup_host *h, size_t n_waiting, size_t n)
{
    char text[400], shown[200];

    (void)snprintf(text, sizeof text, "waiting for an answer of %s:%u; %zu of %zu hosts are done",
                   nm_yarn_conf_printable(h->name, shown, sizeof shown), h->port, n - n_waiting, n);
    w->progress(text);
}

static void wait_for_attempts(const struct nm_setup_request *w, struct attempt *list, size_t n, uint64_t end_usec)
{
    uint64_t reported_usec = nm_now_usec();
    struct pollfd p[HOSTS_MAX];

    for (;;) {
        const uint64_t report_usec = reported_usec + PROGRESS_SEC * NM_USEC_PER_SEC;
        const struct attempt *first = NULL;
        uint64_t until_usec = report_usec, now_usec;
        const size_t n_waiting = list_waiting(list, n, p, &first, &until_usec);

        if (n_waiting == 0)
            return;
        now_usec = nm_now_usec();
        if (poll(p, n, (int)((nm_sub_u64(until_usec, now_usec) + NM_USEC_PER_MSEC - 1) / NM_USEC_PER_MSEC)) < 0)
            memset(p, 0, sizeof p);
        now_usec = nm_now_usec();
        if (now_usec >= report_usec) {
            if (w->progress)
                print_waiting(w, first->host, n_waiting, n);
            reported_usec = now_usec;
        }
        for (size_t i = 0; i < n; i++)
            if (list[i].fd >= 0 && (p[i].revents || now_usec >= list[i].until_usec))
                continue_attempt(&list[i], p[i].revents, end_usec);
    }
}

void nm_setup_try_hosts(const struct nm_setup_request *w, struct nm_setup_facts *f)
{
    const uint64_t end_usec = nm_now_usec() + ALL_PATIENCE_USEC;
    struct attempt list[HOSTS_MAX];

    for (size_t i = 0; i < f->n_hosts; i++) {
        list[i] = (struct attempt){.host = &f->hosts[i]};
        try_next_address(&list[i], end_usec);
    }
    wait_for_attempts(w, list, f->n_hosts, end_usec);
}

/* ---- descriptions ------------------------------------------------------------------------- */

const char *nm_setup_role(enum nm_setup_role role)
{
    switch (role) {
    case NM_SETUP_RESOURCE_MANAGER:
        return "ResourceManager";
    case NM_SETUP_SCHEDULER:
        return "ResourceManager for masters";
    case NM_SETUP_NAME_NODE:
        break;
    }
    return "name node";
}

/* Returns whether another ResourceManager answers. In this case, a ResourceManager that can't be reached may be a
 * standby, which doesn't listen on its ports. A standby name node does listen. */
static bool another_answers(const struct nm_setup_facts *f, const struct nm_setup_host *h)
{
    if (h->role == NM_SETUP_NAME_NODE)
        return false;
    for (size_t i = 0; i < f->n_hosts; i++)
        if (f->hosts[i].role == h->role && f->hosts[i].answered)
            return true;
    return false;
}

static const char *advice_for(enum nm_setup_role role, int error)
{
    switch (error) {
    case -ECONNREFUSED:
        if (role == NM_SETUP_NAME_NODE)
            return "no program listens on this port, so files of jobs can't be fetched from there. Check that the "
                   "NameNode runs, and that this is the port of its web pages (dfs.namenode.http-address or "
                   "https-address).";
        return "no program listens on this port. Check that the ResourceManager runs, and that this is its port for "
               "nodes (yarn.resourcemanager.resource-tracker.address).";
    case -ETIMEDOUT:
        return "no answer was received. Check that the host is up, and that firewalls permit connections to this "
               "port.";
    case -EHOSTUNREACH:
    case -ENETUNREACH:
        return "there is no route to it. Check its address and the network configuration of this host.";
    case -EACCES:
    case -EPERM:
        return "the firewall of this host forbids the connection.";
    }
    return strerror(-error);
}

const char *nm_setup_why_unreached(const struct nm_setup_facts *f, const struct nm_setup_host *h, char *buf,
                                   size_t size)
{
    if (h->answered)
        return NULL;
    if (h->unresolved != 0)
        (void)snprintf(buf, size, "its name can't be resolved: %s", gai_strerror(h->unresolved));
    else if (another_answers(f, h) && h->error == -ECONNREFUSED)
        (void)snprintf(buf, size, "no program listens on this port, which is normal for a standby ResourceManager");
    else if (h->error == 0)
        (void)snprintf(buf, size, "it has no usable address");
    else
        (void)snprintf(buf, size, "can't be reached: %s", advice_for(h->role, h->error));
    return buf;
}
