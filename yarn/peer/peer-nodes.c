/* SPDX-License-Identifier: Apache-2.0 */

/* The table of nodes: see peer-state.h. */

#include "yarn/peer/peer-state.h"

#include <errno.h>

#include "util/fnv1a.h"

static size_t bucket_of(const char *host, int32_t port)
{
    return (nm_fnv1a_32(host, strlen(host)) + (uint32_t)port) % NM_PEER_BUCKETS;
}

struct nm_peer_node *nm_peer_nodes_find(const struct nm_peers *all, const char *host, int32_t port)
{
    struct nm_peer_node *n = all->buckets[bucket_of(host, port)];

    while (n && (n->port != port || !nm_streq(n->host, host)))
        n = n->next;
    return n;
}

static void drop_addresses(struct nm_peer_node *n)
{
    n->resolve = nm_resolve_free(n->resolve);
    free(n->addresses);
    n->addresses = NULL;
}

static void drop(struct nm_peers *all, struct nm_peer_node *n)
{
    struct nm_peer_node **at = &all->buckets[bucket_of(n->host, n->port)];

    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
    all->n_nodes--;
    drop_addresses(n);
    free(n);
}

/* Returns the node that was not used for the longest time. Connections are fewer than nodes, so there is a node without
 * one. */
static struct nm_peer_node *oldest(const struct nm_peers *all)
{
    struct nm_peer_node *found = NULL;

    for (size_t i = 0; i < NM_PEER_BUCKETS; i++)
        for (struct nm_peer_node *n = all->buckets[i]; n; n = n->next)
            if (n->n_links == 0 && (!found || n->used_usec < found->used_usec))
                found = n;
    return found;
}

int nm_peer_nodes_get(struct nm_peers *all, const char *host, int32_t port, uint64_t now_usec,
                      struct nm_peer_node **ret)
{
    struct nm_peer_node *n;
    size_t i;

    if (!*host || strlen(host) > NM_PEER_HOST_MAX || port < 1 || port > UINT16_MAX)
        return -EINVAL;
    n = nm_peer_nodes_find(all, host, port);
    if (!n) {
        n = calloc(1, sizeof *n);
        if (!n)
            return -ENOMEM;
        if (all->n_nodes == NM_PEER_NODES_MAX)
            drop(all, oldest(all));
        *n = (struct nm_peer_node){.all = all, .port = port};
        (void)snprintf(n->host, sizeof n->host, "%s", host);
        i = bucket_of(host, port);
        n->next = all->buckets[i];
        all->buckets[i] = n;
        all->n_nodes++;
    }
    n->used_usec = now_usec;
    *ret = n;
    return 0;
}

void nm_peer_nodes_done(struct nm_peers *all)
{
    for (size_t i = 0; i < NM_PEER_BUCKETS; i++)
        while (all->buckets[i])
            drop(all, all->buckets[i]);
}

enum nm_peer_kind nm_peer_node_kind(const struct nm_peer_node *n, uint64_t now_usec)
{
    return now_usec < n->known_until_usec ? n->kind : NM_PEER_UNKNOWN;
}

void nm_peer_node_set_kind(struct nm_peer_node *n, enum nm_peer_kind kind, uint64_t now_usec)
{
    if (kind == NM_PEER_OTHER)
        drop_addresses(n); /* the node may have moved, and another one may have its address now */
    n->kind = kind;
    n->known_until_usec = now_usec + NM_PEER_REMEMBER_USEC;
    n->retry_usec = 0;
}

/* The addresses are resolved again before the next attempt, since the node may have moved. */
void nm_peer_node_set_unreachable(struct nm_peer_node *n, uint64_t now_usec)
{
    n->retry_usec = now_usec + NM_PEER_RETRY_USEC;
    drop_addresses(n);
}
