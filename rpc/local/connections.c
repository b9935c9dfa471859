/* SPDX-License-Identifier: Apache-2.0 */

/* See connections.h. */

#include "rpc/local/connections.h"

#include <assert.h>
#include <sys/socket.h>

#include "rpc/local/listen.h"
#include "util/clock.h"
#include "util/host.h"

static unsigned tcp_max(const struct nm_connections *all)
{
    return all->max / 8;
}

static unsigned host_share(const struct nm_connections *all)
{
    return NM_MAX(tcp_max(all) / 4, 1u);
}

/* Returns whether a new connection may be accepted. One user may not use all connections, and some are reserved for
 * administrators. One host may use a quarter of the connections for TCP, so that idle connections of one host can't
 * exclude other hosts. */
static bool has_room(const struct nm_connections *all, const struct nm_connection *new)
{
    unsigned same = nm_quota_account_connections(new->account);

    if (all->n >= all->max)
        return false;
    if (new->caller.admin && !new->tcp)
        return true;
    if (all->n >= all->max - all->max / 16)
        return false;
    return new->tcp ? all->n_tcp < tcp_max(all) && same < host_share(all) : same < all->max / 4;
}

/* Shuts a connection down. libmicrohttpd then reads the end of the connection and frees the connection. */
static void cut(struct nm_connection *c)
{
    c->is_leaving = true;
    nm_answer_busy(c->fd);
    (void)shutdown(c->fd, SHUT_RDWR);
}

/* Closes the oldest TCP connection whose request is still incomplete, so that the new connection can be accepted. A
 * normal client sends its request immediately, and an incomplete request must not exclude other clients. If the new
 * client's host has reached its share of the connections, only connections of this host are candidates. Otherwise the
 * connections of the host with the most connections are candidates. A host can therefore only displace its own
 * connections, and only while their requests are incomplete. Visits all connections, at most all->max. Returns whether
 * the new connection can be accepted now. */
static bool make_room(struct nm_connections *all, const struct nm_connection *new)
{
    const bool has_share = nm_quota_account_connections(new->account) >= host_share(all);
    struct nm_connection *oldest = NULL;
    unsigned most = 0;

    /* Connections that were shut down count until libmicrohttpd has read their end. */
    if (!new->tcp || all->n >= all->max || all->n_tcp >= 2 * tcp_max(all))
        return false;
    for (struct nm_connection *c = all->first; c; c = c->next) { /* newest first */
        const unsigned n_connections = nm_quota_account_connections(c->account);

        if (!c->tcp || c->has_request || c->is_leaving || n_connections < most ||
            (has_share && c->account != new->account))
            continue;
        most = n_connections;
        oldest = c;
    }
    if (!oldest)
        return false;
    if (oldest->gate)
        nm_gate_reject(oldest);
    else
        cut(oldest);
    return true;
}

/* Identifies the client. A TCP client has no user: routes and messages define what every TCP client may read. A TCP
 * client sees what administrators see. Its requests are charged to the account of the client's host, not to the quota
 * of administrators. */
static int identify(struct nm_connections *all, struct nm_connection *c, const struct sockaddr_storage *sa)
{
    char who[NM_PEER_NAME_SIZE];
    int r = 0;

    if (c->tcp)
        c->caller = (struct nm_caller){.uid = (uid_t)-1, .gid = (gid_t)-1, .admin = true};
    else
        r = nm_listen_peer(c->fd, all->admin_gid, &c->caller);
    if (r < 0)
        return r;
    if (c->tcp)
        nm_peer_host_name(sa, who, sizeof who);
    else
        (void)snprintf(who, sizeof who, "user %u", c->caller.uid);
    return nm_quota_account_of(all->host->quota, who, c->caller.admin && !c->tcp, &c->account);
}

int nm_connections_add(struct nm_connections *all, int fd, const struct sockaddr_storage *sa, bool tcp,
                       struct nm_connection **ret)
{
    struct nm_connection *c = calloc(1, sizeof *c);
    int r;

    assert(all->host && all->n <= all->max && fd >= 0);
    if (!c)
        return -ENOMEM;
    *c = (struct nm_connection){.host = all->host, .fd = fd, .tcp = tcp};
    r = identify(all, c, sa);
    if (r >= 0 && !has_room(all, c) && !make_room(all, c)) {
        nm_answer_busy(fd);
        r = -EUSERS;
    }
    if (r < 0) {
        nm_quota_account_unref(c->account);
        free(c);
        return r;
    }
    nm_quota_account_enter(c->account);
    c->deadline_usec = nm_now_usec() + all->host->timeout_usec;
    c->next = all->first;
    c->prev_next = &all->first;
    if (c->next)
        c->next->prev_next = &c->next;
    all->first = c;
    all->n++;
    all->n_tcp += tcp;
    *ret = c;
    return 0;
}

void nm_connections_remove(struct nm_connections *all, struct nm_connection *c)
{
    assert(all->n > 0 && *c->prev_next == c);
    *c->prev_next = c->next;
    if (c->next)
        c->next->prev_next = c->prev_next;
    all->n--;
    all->n_tcp -= c->tcp;
    nm_quota_account_leave(c->account);
    nm_quota_account_unref(c->account);
    free(c);
}

struct nm_connection *nm_connection_of(struct MHD_Connection *c)
{
    struct nm_connection *con =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;

    assert(con && con->host && con->account);
    return con;
}

static void give_up(const struct nm_connections *all, const struct nm_connection *c)
{
    char message[128];

    (void)snprintf(message, sizeof message,
                   "The request was not complete in time; all of it must arrive within %g s.",
                   (double)all->host->timeout_usec / NM_USEC_PER_SEC);
    if (!c->has_request)
        nm_answer_raw(c->fd, "408 Request Timeout", "invalid", "request", message);
    (void)shutdown(c->fd, SHUT_RDWR); /* libmicrohttpd reads the end and releases the connection */
}

void nm_connections_sweep(struct nm_connections *all, uint64_t now_usec)
{
    for (struct nm_connection *c = all->first; c; c = c->next)
        if (c->deadline_usec <= now_usec)
            give_up(all, c);
}
