/* SPDX-License-Identifier: Apache-2.0 */

/* See connections.h. */

#include "rpc/local/connections.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "agent/upstream.h"
#include "rpc/local/head.h"
#include "rpc/local/host-names.h"
#include "util/loop.h"

/* ---- answers without libmicrohttpd -------------------------------------------------------- */

void nm_answer_raw(int fd, const char *status, const char *code, const char *thing, const char *message)
{
    char body[320], answer[512];
    int n = snprintf(body, sizeof body,
                     "{\"error\":{\"code\":\"%s\",\"thing\":\"%s\",\"value\":\"\",\"message\":\"%s\"}}"
                     "\n",
                     code, thing, message);

    assert((size_t)n < sizeof body);
    n = snprintf(answer, sizeof answer,
                 "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                 "Connection: close\r\n\r\n%s",
                 status, n, body);
    assert((size_t)n < sizeof answer);
    (void)send(fd, answer, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void nm_answer_busy(int fd)
{
    nm_answer_raw(fd, "503 Service Unavailable", "unavailable", "connection",
                  "Too many clients are connected to nmd at the moment; try again.");
    (void)shutdown(fd, SHUT_WR);
}

/* ---- the gate ----------------------------------------------------------------------------- */

/* Maximum size of a head. libmicrohttpd's buffer has the same size. */
#define HEAD_MAX 8192u

/* Sends an error answer. Discards received bytes first, because closing a socket with unread data resets the
 * connection, and the client would lose the answer. */
static int refuse(struct nm_connection *c, const char *status, const char *thing, const char *why)
{
    char waste[HEAD_MAX];

    nm_answer_raw(c->fd, status, "invalid", thing, why);
    (void)recv(c->fd, waste, sizeof waste, MSG_DONTWAIT);
    (void)shutdown(c->fd, SHUT_WR);
    return -EPROTO;
}

void nm_gate_reject(struct nm_connection *c)
{
    char waste[HEAD_MAX];

    nm_answer_busy(c->fd);
    (void)recv(c->fd, waste, sizeof waste, MSG_DONTWAIT);
    nm_gate_leave(c);
    c->passed(c, -EUSERS);
}

/* Returns whether the cluster uses this name for this node. The cluster's name for the node may become known only after
 * the start. */
static bool is_upstream_name(const struct nm_local_state *h, const char *name)
{
    struct nm_upstream upstream = {};
    char *port;

    nm_manager_get_upstream(h->manager, &upstream);
    port = strrchr(upstream.node, ':');
    if (port)
        *port = '\0';
    return *upstream.node && strcasecmp(upstream.node, name) == 0;
}

/* Returns whether the request addresses this node. Accepts HTTP/1.0 without Host, because this check is against attacks
 * through browsers, and browsers always send Host. */
static bool is_asked_for(const struct nm_connection *c, const struct nm_head *head)
{
    char name[256];

    if (!head->host)
        return true;
    return nm_names_split(head->host, head->host_size, name, sizeof name) &&
           (nm_names_have(c->host->names, name) || is_upstream_name(c->host, name));
}

static int peek_head(struct nm_connection *c)
{
    char data[HEAD_MAX];
    ssize_t n = recv(c->fd, data, sizeof data, MSG_PEEK | MSG_DONTWAIT);
    struct nm_head head;
    int r;

    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR) ? -EINPROGRESS : n < 0 ? -errno : -ECONNRESET;
    r = nm_head_check(data, (size_t)n, &head);
    if (r == NM_HEAD_E_PARTIAL && (size_t)n == sizeof data)
        return refuse(c, "431 Request Header Fields Too Large", "request",
                      "The request's first line and headers have more than 8 KiB.");
    if (r == NM_HEAD_E_PARTIAL)
        return -EINPROGRESS;
    if (r == NM_HEAD_E_BAD)
        return refuse(c, "400 Bad Request", "request", head.why);
    if (!is_asked_for(c, &head))
        return refuse(c, "421 Misdirected Request", "Host",
                      "The request's Host is not a name or address of this node; use a name or address of this node, "
                      "or add the Host to http-hosts in section interface of nmd.conf.");
    return 0;
}

static int on_bytes(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_connection *c = userdata;
    int r = peek_head(c);

    (void)source, (void)fd;
    if (r == -EINPROGRESS && revents & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))
        r = -ECONNRESET; /* the client sends no more data */
    if (r == -EINPROGRESS)
        return 0;
    nm_gate_leave(c);
    c->passed(c, r);
    return 0;
}

/* Adds the socket edge-triggered. The bytes that were read with MSG_PEEK remain in the socket, and a level-triggered
 * socket would wake the event loop continuously. */
int nm_gate_enter(struct nm_connection *c, nm_gate_cb_t cb)
{
    int r = peek_head(c);

    if (r != -EINPROGRESS)
        return r;
    c->passed = cb;
    r = sd_event_add_io(c->host->event, &c->gate, c->fd, EPOLLIN | EPOLLRDHUP | EPOLLET, on_bytes, c);
    if (r >= 0)
        r = sd_event_source_set_priority(c->gate, NM_LOOP_WORK);
    if (r < 0) {
        nm_gate_leave(c);
        return r;
    }
    (void)sd_event_source_set_description(c->gate, "http-gate");
    return -EINPROGRESS;
}

void nm_gate_leave(struct nm_connection *c)
{
    c->gate = sd_event_source_disable_unref(c->gate);
}
