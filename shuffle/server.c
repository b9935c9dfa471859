/* SPDX-License-Identifier: Apache-2.0 */

/* See server.h. */

#include "shuffle/server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "shuffle/idle.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/host.h"
#include "util/parse.h"

/* Hadoop's timeout for the next request of a connection. */
#define IDLE_USEC (5 * NM_USEC_PER_SEC)
/* Time for which a thread waits for the next request itself, because a reducer that has more to fetch sends it at once.
 * A thread is started for a later one. */
#define STAY_MSEC 20
/* Interval at which the end of the time of idle connections is checked. */
#define EXPIRY_MSEC 250
#define SEND_TIMEOUT_SEC 60
/* A request uses some 100 KiB of the stack: its decoded query, its plan, and the buffer of send_some(). */
#define STACK_BYTES (256u << 10)
#define BACKLOG 512
/* Pause of accepting when descriptors or memory are used up, because the next accept would fail again. */
#define EXHAUSTED_PAUSE_MSEC 100

struct nm_shuffle_server {
    struct nm_shuffle_service *service;
    int listener, stop[2];
    struct nm_shuffle_idle *idle;
    pthread_t acceptor;
    pthread_attr_t connection_attr;
};

/* All memory of a connection except its stack. The buffer fits the longest head; requests have no body. */
struct connection {
    struct nm_shuffle_idle_entry idle; /* with the deadline for the next head */
    struct nm_shuffle_server *server;
    struct nm_shuffle_service *service;
    int fd;
    unsigned slot;
    bool spare;
    size_t received;
    uint8_t buffer[NM_SHUFFLE_HEAD_MAX];
};

/* ---- serving a connection ----------------------------------------------------------------- */

/* Reads until the head is complete. Returns 0 if the other side closed, -EMSGSIZE if the head is too long. The timeout
 * applies to the whole head, so that a client cannot extend it with one byte a second. */
static int read_head(struct connection *c, size_t *ret_size)
{
    const uint64_t deadline = c->idle.deadline_usec;

    for (;;) {
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        uint64_t now = nm_now_usec();
        ssize_t n;
        int r;

        *ret_size = nm_shuffle_head_size((struct nm_bytes){c->buffer, c->received});
        if (*ret_size > 0)
            return 1;
        if (c->received == sizeof c->buffer)
            return -EMSGSIZE;
        if (now >= deadline || (r = poll(&p, 1, (int)((deadline - now) / NM_USEC_PER_MSEC) + 1)) == 0)
            return -ETIMEDOUT;
        if (r < 0 && errno != EINTR)
            return -errno; /* the loop would spin if it continued */
        n = recv(c->fd, c->buffer + c->received, sizeof c->buffer - c->received, MSG_DONTWAIT);
        if (n == 0)
            return 0;
        if (n > 0)
            c->received += (size_t)n;
        else if (errno != EAGAIN && errno != EINTR)
            return -errno;
    }
}

static int answer_head(struct connection *c, size_t size)
{
    int r;

    if (c->spare) {
        atomic_fetch_add(&c->service->count.refused, 1);
        return nm_shuffle_refuse(c->fd, NM_SHUFFLE_TOO_MANY,
                                 "All connections are in use, or your host has reached its limit\n");
    }
    r = nm_shuffle_answer(c->service, c->fd, c->slot, (struct nm_bytes){c->buffer, size});
    c->received -= size;
    memmove(c->buffer, c->buffer + size, c->received);
    return r;
}

/* Lets the other side receive the last answer: closing with unread bytes would reset the connection, and the other side
 * would discard the answer. */
static void linger(struct connection *c)
{
    shutdown(c->fd, SHUT_WR);
    for (uint64_t deadline = nm_now_usec() + NM_USEC_PER_SEC; nm_now_usec() < deadline;) {
        struct pollfd p = {.fd = c->fd, .events = POLLIN};

        if (poll(&p, 1, 1000) <= 0 || recv(c->fd, c->buffer, sizeof c->buffer, MSG_DONTWAIT) <= 0)
            break;
    }
}

/* Ends a connection, which no thread serves any more. */
static void end(struct connection *c)
{
    struct nm_shuffle_connections *connections = c->service->connections;
    unsigned slot = c->slot;

    free(c);
    /* from here on, a thread that waits for the end of the last connection may free all other data */
    nm_shuffle_connections_leave(connections, slot);
}

/* Returns whether the next request, or a part of it, arrives soon. */
static bool has_more(const struct connection *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};

    return c->received > 0 || poll(&p, 1, STAY_MSEC) > 0;
}

/* Serves a connection until it becomes idle. The first request has a timeout of its own; the timeout between requests
 * was announced to the client. */
static void *serve(void *arg)
{
    struct connection *c = arg;
    size_t size;
    int r;

    while ((r = read_head(c, &size)) > 0 && (r = answer_head(c, size)) == 0) {
        c->idle.is_first = false;
        c->idle.deadline_usec = nm_now_usec() + IDLE_USEC;
        if (!has_more(c) && nm_shuffle_idle_add(c->server->idle, &c->idle) == 0)
            return NULL; /* another thread may serve the connection already */
    }
    if (r == -EMSGSIZE)
        r = nm_shuffle_refuse(c->fd, NM_SHUFFLE_HEAD_TOO_LARGE, "The request is too long\n");
    if (r > 0)
        linger(c);
    end(c);
    return NULL;
}

/* Starts a thread for a connection that has received something. */
static void begin_serving(struct connection *c)
{
    pthread_t thread;

    if (pthread_create(&thread, &c->server->connection_attr, serve, c) != 0)
        end(c);
}

static struct connection *connection_of(struct nm_shuffle_idle_entry *entry)
{
    return NM_CONTAINER_OF(entry, struct connection, idle);
}

static void serve_idle(struct nm_shuffle_idle *idle)
{
    struct nm_shuffle_idle_entry *entry;

    while ((entry = nm_shuffle_idle_ready(idle)))
        begin_serving(connection_of(entry));
    while ((entry = nm_shuffle_idle_expired(idle, nm_now_usec())))
        end(connection_of(entry));
}

/* ---- accepting connections ---------------------------------------------------------------- */

/* Takes ownership of the accepted descriptor in all cases. A connection gets a thread when it has sent something, and
 * only if it has a slot, which limits the cost of unauthenticated clients. */
static int begin(struct nm_shuffle_server *server, int accepted, const struct sockaddr_storage *from)
{
    const struct timeval timeout = {.tv_sec = SEND_TIMEOUT_SEC};
    const int on = 1;
    _cleanup_close_ int fd = accepted;
    _cleanup_free_ struct connection *c = malloc(sizeof *c);
    struct nm_shuffle_service *s = server->service;
    char host[NM_PEER_NAME_SIZE];
    unsigned slot;
    int r;

    if (!c)
        return -ENOMEM;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    /* the end of an answer would wait for the other side's delayed acknowledgement, 40 ms */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    nm_peer_name(from, host, sizeof host);
    r = nm_shuffle_connections_enter(s->connections, fd, host, &slot);
    if (r < 0) {
        atomic_fetch_add(&s->count.refused, 1);
        return r;
    }
    c->server = server;
    c->service = s;
    c->fd = STEAL_FD(fd); /* the slot owns the descriptor from here on */
    c->slot = slot;
    c->spare = r == NM_SHUFFLE_CONNECTIONS_E_SPARE;
    c->received = 0;
    c->idle = (struct nm_shuffle_idle_entry){
        .fd = c->fd, .is_first = true, .deadline_usec = nm_now_usec() + s->request_usec};
    r = nm_shuffle_idle_add(server->idle, &c->idle);
    if (r < 0) {
        nm_shuffle_connections_leave(s->connections, slot);
        return r;
    }
    (void)STEAL_PTR(c);
    atomic_fetch_add(&s->count.connections, 1);
    return 0;
}

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
static int accept_one(struct nm_shuffle_server *server)
{
    struct sockaddr_storage from = {0};
    socklen_t size = sizeof from;
    int r, fd = accept4(server->listener, (struct sockaddr *)&from, &size, SOCK_CLOEXEC);

    if (fd < 0)
        return is_of_the_connection(errno) ? 0 : -errno;
    r = begin(server, fd, &from);
    return r == -EBUSY || r == -ECANCELED ? 0 : r;
}

/* Accepts connections, and waits for the requests of idle ones. Without descriptors or memory the loop would spin,
 * because the waiting connection stays in the queue. So the thread pauses, and checks during the pause whether it must
 * end. */
static void *accept_all(void *arg)
{
    struct nm_shuffle_server *server = arg;
    struct pollfd p[3] = {{.fd = server->listener, .events = POLLIN},
                          {.fd = server->stop[0], .events = POLLIN},
                          {.fd = nm_shuffle_idle_fd(server->idle), .events = POLLIN}};
    char byte;
    const struct timespec pause = {.tv_nsec = EXHAUSTED_PAUSE_MSEC * 1000 * 1000};

    for (;;) {
        const bool has_any = nm_shuffle_connections_count(server->service->connections) > 0;

        if (poll(p, NM_ARRAY_SIZE(p), has_any ? EXPIRY_MSEC : -1) < 0) {
            if (errno != EINTR)
                (void)nanosleep(&pause, NULL); /* no memory: an exit would leave the socket unserved */
            if (read(server->stop[0], &byte, 1) == 0)
                return NULL;
            continue;
        }
        if (p[1].revents)
            return NULL;
        serve_idle(server->idle);
        if (p[0].revents && accept_one(server) < 0 && poll(p + 1, 1, EXHAUSTED_PAUSE_MSEC) > 0)
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
static int listen_at(const struct addrinfo *ai)
{
    _cleanup_close_ int fd = RET_NERRNO(socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1, off = 0;

    if (fd < 0)
        return fd;
    /* a restart must not wait for the last packets of old connections */
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (ai->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
        return -errno;
    return STEAL_FD(fd);
}

static int open_listener(const char *address, int *ret_fd, char **ret_message)
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
        fd = listen_at(ai);
    freeaddrinfo(all);
    if (fd < 0)
        return nm_fail(ret_message, fd, "Can't listen at %s: %s", address, strerror(-fd));
    *ret_fd = fd;
    return 0;
}

/* Returns the actual port, which port 0 leaves to the kernel: reducers sign the port. */
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

int nm_shuffle_server_new(struct nm_shuffle_service *s, const char *address, struct nm_shuffle_server **ret,
                          char **ret_message)
{
    _cleanup_free_ struct nm_shuffle_server *server = calloc(1, sizeof *server);
    _cleanup_close_ int listener = -EBADF;
    int r;

    if (!server)
        return -ENOMEM;
    if ((r = open_listener(address, &listener, ret_message)) < 0)
        return r;
    s->port = port_of(listener);
    server->service = s;
    server->listener = listener;
    if (pipe2(server->stop, O_CLOEXEC | O_NONBLOCK) < 0)
        return nm_fail(ret_message, -errno, "Can't create a pipe: %m");
    pthread_attr_init(&server->connection_attr);
    pthread_attr_setstacksize(&server->connection_attr, STACK_BYTES);
    pthread_attr_setdetachstate(&server->connection_attr, PTHREAD_CREATE_DETACHED);
    if ((r = nm_shuffle_idle_new(&server->idle)) == 0)
        r = -pthread_create(&server->acceptor, NULL, accept_all, server);
    if (r < 0) {
        nm_shuffle_idle_free(server->idle);
        pthread_attr_destroy(&server->connection_attr);
        nm_close(server->stop[0]);
        nm_close(server->stop[1]);
        return nm_fail(ret_message, r, "Can't create a thread: %s", strerror(-r));
    }
    (void)STEAL_FD(listener);
    *ret = STEAL_PTR(server);
    return 0;
}

struct nm_shuffle_server *nm_shuffle_server_free(struct nm_shuffle_server *server)
{
    struct nm_shuffle_idle_entry *entry;

    if (!server)
        return NULL;
    nm_close(server->stop[1]); /* the acceptor sees end-of-file on the pipe */
    pthread_join(server->acceptor, NULL);
    nm_shuffle_idle_close(server->idle);
    while ((entry = nm_shuffle_idle_expired(server->idle, UINT64_MAX)))
        end(connection_of(entry));
    nm_shuffle_connections_close(server->service->connections);
    nm_shuffle_idle_free(server->idle);
    nm_close(server->stop[0]);
    nm_close(server->listener);
    pthread_attr_destroy(&server->connection_attr);
    free(server);
    return NULL;
}
