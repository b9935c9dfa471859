/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See client.h. This client doesn't use libcurl. Loading and initializing libcurl with its dependencies (TLS, HTTP/2,
 * DNS, ...) takes longer than the 5 ms within which `nmctl run` should reach the command's first instruction. The
 * client needs only one request per connection, on a UNIX socket, to a known server.
 *
 * The request has no "Connection: close", although each connection has only one request. With this header, the server
 * would mark the end of a stream by closing the connection, and the client couldn't distinguish the end from a crash of
 * the daemon.
 */

#include "rpc/local/client/client.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "util/error.h"

#define READ_SIZE 16384
#define HEAD_MAX 4096 /* maximum head of an answer to an upgrade */
#define CONNECT_TIMEOUT_USEC (10 * NM_USEC_PER_SEC)

struct nm_client {
    int fd;
    char *out; /* the request */
    size_t out_len, out_sent;
    struct nm_reply reply;
    bool wants_upgrade;      /* an upgrade was requested, and the head of the answer is incomplete */
    size_t head_len;
    char head[HEAD_MAX + 1]; /* wants_upgrade: the received part of the head */
};

/* Connects in blocking mode. On a UNIX socket connect() blocks only while the backlog is full. SO_SNDTIMEO limits this
 * time. */
static int connect_to(const char *path, uint64_t timeout_usec, int *ret)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    /* A timeout of 0 would mean no limit. */
    uint64_t usec = NM_MAX(NM_MIN(timeout_usec, CONNECT_TIMEOUT_USEC), NM_USEC_PER_MSEC);
    struct timeval timeout = {.tv_sec = (time_t)(usec / NM_USEC_PER_SEC),
                              .tv_usec = (suseconds_t)(usec % NM_USEC_PER_SEC)};
    size_t len = strlen(path);
    int r;

    if (fd < 0)
        return -errno;
    if (len >= sizeof addr.sun_path)
        return -ENAMETOOLONG;
    memcpy(addr.sun_path, path, len + 1);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    do
        r = RET_NERRNO(connect(fd, (const struct sockaddr *)&addr, sizeof addr));
    while (r == -EINTR);
    if (r < 0)
        return r == -EAGAIN ? -ETIMEDOUT : r;
    r = RET_NERRNO(fcntl(fd, F_SETFL, O_NONBLOCK));
    if (r < 0)
        return r;
    *ret = STEAL_FD(fd);
    return 0;
}

/* Formats the request. HTTP/1.1 requires Host, whose value has no meaning on a UNIX socket. */
static int print_request(const struct nm_client_request *q, const char *protocol, struct nm_client *c)
{
    char upgrade[96] = "";
    int n;

    if (protocol)
        (void)snprintf(upgrade, sizeof upgrade, "Connection: Upgrade\r\nUpgrade: %s\r\n", protocol);
    if (q->body)
        n = asprintf(&c->out,
                     "%s %s HTTP/1.1\r\nHost: nmd\r\n%sContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     q->method, q->target, upgrade, strlen(q->body), q->body);
    else
        n = asprintf(&c->out, "%s %s HTTP/1.1\r\nHost: nmd\r\n%s\r\n", q->method, q->target, upgrade);
    if (n < 0) {
        c->out = NULL;
        return -ENOMEM;
    }
    c->out_len = (size_t)n;
    return 0;
}

static int client_new(const struct nm_client_request *q, const char *protocol, uint64_t timeout_usec,
                      nm_reply_body_cb_t body_cb, void *userdata, struct nm_client **ret)
{
    _cleanup_(nm_client_freep) struct nm_client *c = malloc(sizeof *c);
    int r;

    if (!c)
        return -ENOMEM;
    c->fd = -EBADF;
    c->out = NULL;
    c->out_len = c->out_sent = c->head_len = 0;
    c->wants_upgrade = protocol;
    nm_reply_init(&c->reply, body_cb, userdata);
    r = print_request(q, protocol, c);
    if (r < 0)
        return r;
    r = connect_to(q->socket_path, timeout_usec, &c->fd);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(c);
    return 0;
}

int nm_client_new(const struct nm_client_request *q, nm_reply_body_cb_t body_cb, void *userdata,
                  struct nm_client **ret)
{
    return client_new(q, NULL, CONNECT_TIMEOUT_USEC, body_cb, userdata, ret);
}

int nm_client_new_within(const struct nm_client_request *q, uint64_t timeout_usec, nm_reply_body_cb_t body_cb,
                         void *userdata, struct nm_client **ret)
{
    return client_new(q, NULL, timeout_usec, body_cb, userdata, ret);
}

int nm_client_new_upgrade(const struct nm_client_request *q, const char *protocol, nm_reply_body_cb_t body_cb,
                          void *userdata, struct nm_client **ret)
{
    assert(protocol);
    return client_new(q, protocol, CONNECT_TIMEOUT_USEC, body_cb, userdata, ret);
}

struct nm_client *nm_client_free(struct nm_client *c)
{
    if (!c)
        return NULL;
    c->fd = nm_close(c->fd);
    free(c->out);
    free(c);
    return NULL;
}

int nm_client_fd(const struct nm_client *c)
{
    return c->fd;
}

short nm_client_events(const struct nm_client *c)
{
    return c->out_sent < c->out_len ? POLLIN | POLLOUT : POLLIN;
}

unsigned nm_client_status(const struct nm_client *c)
{
    return nm_reply_in_body(&c->reply) ? c->reply.status : 0;
}

int nm_client_log_position(const struct nm_client *c, uint64_t *ret)
{
    if (!nm_reply_in_body(&c->reply) || !c->reply.has_log_position)
        return -ENODATA;
    *ret = c->reply.log_position;
    return 0;
}

/* Sends a part of the request. A server that refuses a request, for instance because it is too large, answers and
 * closes the connection without reading the rest. Sending then fails, but the answer must still be read, so this
 * failure isn't returned as an error. */
static int send_some(struct nm_client *c)
{
    while (c->out_sent < c->out_len) {
        ssize_t n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent, MSG_NOSIGNAL);
        if (n >= 0) {
            c->out_sent += (size_t)n;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno == EAGAIN)
            return 0;
        if (errno != EPIPE && errno != ECONNRESET)
            return -errno;
        c->out_sent = c->out_len;
    }
    return 0;
}

static int feed(struct nm_client *c, const char *data, size_t n)
{
    int r = n > 0 ? nm_reply_feed(&c->reply, data, n) : nm_reply_feed_eof(&c->reply);

    if (r < 0)
        return r;
    return r == NM_REPLY_E_DONE ? NM_CLIENT_E_DONE : 0;
}

/* Handles the head of the answer. An answer with a status other than 101 is processed like any other answer. */
static int take_head(struct nm_client *c)
{
    static const char switching[] = "HTTP/1.1 101 ";

    c->wants_upgrade = false;
    if (c->head_len < sizeof switching - 1 || memcmp(c->head, switching, sizeof switching - 1) != 0)
        return feed(c, c->head, c->head_len);
    c->head[c->head_len] = '\0';
    return NM_CLIENT_E_SWITCHED;
}

/* Reads byte by byte, because the bytes after the head belong to the next protocol. */
static int read_head(struct nm_client *c)
{
    while (c->head_len < HEAD_MAX) {
        ssize_t n = recv(c->fd, c->head + c->head_len, 1, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0)
            return n < 0 ? -errno : -ECONNRESET;
        if (++c->head_len >= 4 && memcmp(c->head + c->head_len - 4, "\r\n\r\n", 4) == 0)
            return take_head(c);
    }
    return -E2BIG;
}

int nm_client_switched(struct nm_client *c, char ret_location[NM_CLIENT_LOCATION_SIZE])
{
    static const char name[] = "\r\nLocation: ";
    const char *found = strcasestr(c->head, name), *value = found ? found + sizeof name - 1 : "";

    assert(c->fd >= 0 && !c->wants_upgrade && c->head_len > 0);
    (void)snprintf(ret_location, NM_CLIENT_LOCATION_SIZE, "%.*s", (int)strcspn(value, "\r\n"), value);
    return STEAL_FD(c->fd);
}

int nm_client_process(struct nm_client *c)
{
    char buf[READ_SIZE];
    ssize_t n;
    int r = send_some(c);

    assert(c->fd >= 0 && c->out_sent <= c->out_len);
    if (r < 0)
        return r;
    if (c->wants_upgrade)
        return read_head(c);
    do
        n = recv(c->fd, buf, sizeof buf, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n < 0 && errno != ECONNRESET)
        return -errno;
    return feed(c, buf, n > 0 ? (size_t)n : 0);
}

void nm_client_answer_done(struct nm_client_answer *a)
{
    free(a->body);
    *a = (struct nm_client_answer){0};
}

/* Collects the body. Allocates an additional byte for a NUL, because callers use the body as a string. */
int nm_client_answer_gather(const char *data, size_t n, void *userdata)
{
    struct nm_client_answer *a = userdata;

    if (n >= NM_CLIENT_ANSWER_MAX - a->len)
        return -E2BIG;
    if (a->len + n + 1 > a->size) {
        size_t wanted = a->len + n + 1, size = wanted + wanted / 2;
        char *p = realloc(a->body, size);

        if (!p)
            return -ENOMEM;
        a->body = p;
        a->size = size;
    }
    if (n > 0)
        memcpy(a->body + a->len, data, n);
    a->len += n;
    a->body[a->len] = '\0';
    return 0;
}

/* Processes a call until it has ended. The timeout restarts whenever data arrives, so that a long answer isn't
 * interrupted. */
static int run_to_end(struct nm_client *c, uint64_t timeout_usec)
{
    uint64_t msec = timeout_usec / NM_USEC_PER_MSEC;
    int timeout = msec > INT32_MAX ? -1 : (int)msec;

    for (;;) {
        struct pollfd p = {.fd = c->fd, .events = nm_client_events(c)};
        int r = RET_NERRNO(poll(&p, 1, timeout));

        if (r == -EINTR)
            continue;
        if (r <= 0)
            return r < 0 ? r : -ETIMEDOUT;
        r = nm_client_process(c);
        if (r != 0)
            return r;
    }
}

/* Runs a complete call. Returns NM_CLIENT_E_DONE and *ret, or after an upgrade NM_CLIENT_E_SWITCHED and *ret_fd. */
static int call_whole(const struct nm_client_request *q, const char *protocol, uint64_t timeout_usec, int *ret_fd,
                      struct nm_client_answer *ret)
{
    _cleanup_(nm_client_answer_done) struct nm_client_answer a = {0};
    _cleanup_(nm_client_freep) struct nm_client *c = NULL;
    char location[NM_CLIENT_LOCATION_SIZE];
    int r = nm_client_answer_gather("", 0, &a); /* an empty body must be a string too */

    if (r >= 0)
        r = client_new(q, protocol, timeout_usec, nm_client_answer_gather, &a, &c);
    if (r >= 0)
        r = run_to_end(c, timeout_usec);
    if (r == NM_CLIENT_E_SWITCHED)
        *ret_fd = nm_client_switched(c, location);
    if (r != NM_CLIENT_E_DONE)
        return r;
    a.status = c->reply.status;
    *ret = a;
    a = (struct nm_client_answer){0};
    return r;
}

int nm_client_fetch(const struct nm_client_request *q, uint64_t timeout_usec,
                    struct nm_client_answer *ret)
{
    int r = call_whole(q, NULL, timeout_usec, NULL, ret);

    return r < 0 ? r : 0;
}

int nm_client_upgrade(const struct nm_client_request *q, const char *protocol, uint64_t timeout_usec, int *ret_fd,
                      struct nm_client_answer *ret_answer)
{
    int r;

    assert(protocol);
    r = call_whole(q, protocol, timeout_usec, ret_fd, ret_answer);
    if (r == NM_CLIENT_E_DONE)
        return NM_CLIENT_E_REFUSED;
    return r < 0 ? r : 0;
}
