/* SPDX-License-Identifier: Apache-2.0 */

/* See acceptor.h. */

#include "shuffle/acceptor.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "shuffle/socket.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/host.h"
#include "util/parse.h"

/* Longest interval at which the end of the time of waiting connections is checked. */
#define EXPIRY_USEC (250 * NM_USEC_PER_MSEC)
#define BACKLOG 512
/* Connections that are continued before the loop looks at the listener and the deadlines again. A client that keeps
 * sending is ready each time. */
#define CONTINUED_AT_ONCE 64
/* Pause of accepting when descriptors or memory are used up, because the next accept would fail again. */
#define EXHAUSTED_PAUSE_MSEC 100

struct nm_shuffle_acceptor {
    const struct nm_shuffle_acceptor_ops *ops;
    void *userdata;
    struct nm_shuffle_connections *connections;
    struct nm_shuffle_loop loop;
    int listener, stop[2];
    uint16_t port;
    bool is_running, keeps_alive;
    pthread_t thread;
};

/* ---- accepting connections ---------------------------------------------------------------- */

/* Returns whether the error of accept() concerns the connection that it took from the queue (accept(2) lists the errors
 * that Linux passes on), or an empty queue. After any other error the connection is still in the queue, and poll()
 * returns immediately. */
static bool is_of_the_connection(int error)
{
    static const int all[] = {EAGAIN,  EINTR,        ECONNABORTED, EPERM,      EPROTO,    ENETDOWN,
                              EHOSTDOWN, ENOPROTOOPT, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH, ETIMEDOUT};

    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++)
        if (error == all[i])
            return true;
    return false;
}

/* Accepts a connection. Returns an error if the next accept would fail again. */
static int accept_one(struct nm_shuffle_acceptor *a)
{
    struct sockaddr_storage from = {0};
    socklen_t size = sizeof from;
    const int on = 1;
    char host[NM_PEER_NAME_SIZE];
    int r, fd = accept4(a->listener, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return is_of_the_connection(errno) ? 0 : -errno;
    /* the end of an answer would wait for the other side's delayed acknowledgement, 40 ms */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (a->keeps_alive)
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    nm_peer_name(&from, host, sizeof host);
    r = a->ops->begin(fd, host, a->userdata);
    return r == -EBUSY || r == -ECANCELED ? 0 : r;
}

static struct nm_shuffle_turns *turns_of(struct nm_shuffle_idle_entry *entry)
{
    return NM_CONTAINER_OF(entry, struct nm_shuffle_turns, idle);
}

/* Continues the connections whose wait is over. */
static void serve_idle(const struct nm_shuffle_acceptor *a)
{
    struct nm_shuffle_idle_entry *entry;

    for (unsigned n = 0; n < CONTINUED_AT_ONCE && (entry = nm_shuffle_idle_ready(a->loop.idle)); n++)
        a->ops->ready(turns_of(entry));
    for (unsigned n = 0; n < CONTINUED_AT_ONCE && (entry = nm_shuffle_idle_expired(a->loop.idle, nm_now_usec())); n++)
        a->ops->expired(turns_of(entry));
}

/* Returns the timeout of the next poll(). Other threads only add connections that exist already. */
static int timeout_msec(const struct nm_shuffle_acceptor *a)
{
    const uint64_t now_usec = nm_now_usec();
    uint64_t next_usec;

    if (nm_shuffle_connections_count(a->connections) == 0)
        return -1;
    next_usec = now_usec + (nm_shuffle_pool_relieve(a->loop.pool) ? NM_SHUFFLE_BLOCKED_USEC : EXPIRY_USEC);
    next_usec = nm_shuffle_idle_next(a->loop.idle, next_usec);
    return (int)((nm_sub_u64(next_usec, now_usec) + NM_USEC_PER_MSEC - 1) / NM_USEC_PER_MSEC);
}

/* The loop: accepts connections, and waits for all connections that no thread serves. Without descriptors or memory the
 * loop would spin, because the waiting connection stays in the queue. So the thread pauses, and checks during the pause
 * whether it must end. */
static void *accept_all(void *arg)
{
    struct nm_shuffle_acceptor *a = arg;
    struct pollfd p[3] = {{.fd = a->listener, .events = POLLIN},
                          {.fd = a->stop[0], .events = POLLIN},
                          {.fd = nm_shuffle_idle_fd(a->loop.idle), .events = POLLIN}};
    char byte;
    const struct timespec pause = {.tv_nsec = EXHAUSTED_PAUSE_MSEC * 1000 * 1000};

    for (;;) {
        if (poll(p, NM_ARRAY_SIZE(p), timeout_msec(a)) < 0) {
            if (errno != EINTR)
                (void)nanosleep(&pause, NULL); /* no memory: an exit would leave the socket unserved */
            if (read(a->stop[0], &byte, 1) == 0)
                return NULL;
            continue;
        }
        if (p[1].revents)
            return NULL;
        serve_idle(a);
        if (a->ops->tick)
            a->ops->tick(a->userdata);
        if (p[0].revents && accept_one(a) < 0 && poll(p + 1, 1, EXHAUSTED_PAUSE_MSEC) > 0)
            return NULL;
    }
}

/* ---- listening ---------------------------------------------------------------------------- */

/* Splits "[::1]:13562" into host and port; an address without a host means all addresses. */
static int split(const char *address, char *host, size_t host_size, const char **ret_port)
{
    const char *colon = strrchr(address, ':'), *begin = address, *end = colon ? colon : address;
    uint64_t number;

    *ret_port = colon ? colon + 1 : address;
    if (end > begin && *begin == '[' && end[-1] == ']') {
        begin++;
        end--;
    }
    /* getaddrinfo() would use the lower 16 bits of a larger number */
    if ((size_t)(end - begin) >= host_size || nm_parse_u64(*ret_port, &number) < 0 || number > UINT16_MAX)
        return -EINVAL;
    *(char *)mempcpy(host, begin, (size_t)(end - begin)) = '\0';
    return 0;
}

/* Listens on IPv6 with mapped IPv4, so that one socket serves "all addresses". */
static int listen_at(const struct addrinfo *ai, int backlog)
{
    _cleanup_close_ int fd = RET_NERRNO(socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1, off = 0;

    if (fd < 0)
        return fd;
    /* a restart must not wait for the last packets of old connections */
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (ai->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    nm_shuffle_socket_limit(fd);
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(fd, backlog) < 0)
        return -errno;
    return STEAL_FD(fd);
}

static int open_listener(const char *address, int backlog, int *ret_fd, char **ret_message)
{
    const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *all = NULL;
    char host[256];
    const char *port;
    int fd = -EINVAL;

    if (split(address, host, sizeof host, &port) < 0 || getaddrinfo(*host ? host : NULL, port, &hints, &all) != 0)
        return nm_fail(ret_message, -EINVAL,
                       "'%s' is not an address to listen at: use ADDRESS:PORT, [IPv6]:PORT or PORT, with numbers",
                       address);
    for (const struct addrinfo *ai = all; ai && fd < 0; ai = ai->ai_next)
        fd = listen_at(ai, backlog);
    freeaddrinfo(all);
    if (fd < 0)
        return nm_fail(ret_message, fd, "Can't listen at %s: %s", address, strerror(-fd));
    *ret_fd = fd;
    return 0;
}

/* Returns the actual port, which port 0 leaves to the kernel: clients must know the port. */
static uint16_t port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } a = {0};
    socklen_t size = sizeof a;

    (void)getsockname(fd, &a.any, &size);
    return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
}

/* ---- the acceptor ------------------------------------------------------------------------- */

int nm_shuffle_acceptor_new(const struct nm_shuffle_acceptor_params *params, struct nm_shuffle_acceptor **ret,
                            char **ret_message)
{
    _cleanup_(nm_shuffle_acceptor_freep) struct nm_shuffle_acceptor *a = calloc(1, sizeof *a);
    int r;

    if (!a)
        return -ENOMEM;
    a->ops = params->ops;
    a->loop.answer = params->ops->answer;
    a->loop.end = params->ops->end;
    a->userdata = params->userdata;
    a->connections = params->connections;
    a->keeps_alive = params->keeps_alive;
    a->listener = a->stop[0] = a->stop[1] = -EBADF;
    if ((r = open_listener(params->address, params->backlog ?: BACKLOG, &a->listener, ret_message)) < 0)
        return r;
    a->port = port_of(a->listener);
    if ((r = RET_NERRNO(pipe2(a->stop, O_CLOEXEC | O_NONBLOCK))) < 0 || (r = nm_shuffle_idle_new(&a->loop.idle)) < 0 ||
        (r = nm_shuffle_pool_new(nm_shuffle_turns_serve, nm_shuffle_connections_room(a->connections),
                                 &a->loop.pool)) < 0)
        return r;
    *ret = STEAL_PTR(a);
    return 0;
}

int nm_shuffle_acceptor_start(struct nm_shuffle_acceptor *a)
{
    int r = -pthread_create(&a->thread, NULL, accept_all, a);

    a->is_running = r == 0;
    return r;
}

const struct nm_shuffle_loop *nm_shuffle_acceptor_loop(const struct nm_shuffle_acceptor *a)
{
    return &a->loop;
}

uint16_t nm_shuffle_acceptor_port(const struct nm_shuffle_acceptor *a)
{
    return a->port;
}

/* The connections end before the pool: their answers are in its threads and its queue. */
static void stop(struct nm_shuffle_acceptor *a)
{
    struct nm_shuffle_idle_entry *entry;

    a->stop[1] = nm_close(a->stop[1]); /* the loop sees end-of-file on the pipe */
    pthread_join(a->thread, NULL);
    nm_shuffle_idle_close(a->loop.idle);
    while ((entry = nm_shuffle_idle_expired(a->loop.idle, UINT64_MAX)))
        a->loop.end(turns_of(entry), -ECANCELED);
    nm_shuffle_connections_close(a->connections);
}

struct nm_shuffle_acceptor *nm_shuffle_acceptor_free(struct nm_shuffle_acceptor *a)
{
    if (!a)
        return NULL;
    if (a->is_running)
        stop(a);
    nm_shuffle_pool_free(a->loop.pool);
    nm_shuffle_idle_free(a->loop.idle);
    nm_close(a->stop[0]);
    nm_close(a->stop[1]);
    nm_close(a->listener);
    free(a);
    return NULL;
}
