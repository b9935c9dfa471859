/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The room of nodes for what is lent, or would be lent ("observe"): see lend-stage.h. While it is only observed, the
 * books say how many containers of a key would be lent now. Here, each of them gets the node that would run it, and its
 * memory counts there for all masters of this node. Otherwise each call would count the same room again.
 *
 * With distributed scheduling, the nodes are those that the ResourceManager has listed. Without it, the
 * ResourceManager lists none. Then they are the nodes that this proxy has seen: its own, and those of containers that
 * were granted.
 */

#include "yarn/proxy/lend-stage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/array.h"
#include "util/clock.h"
#include "util/parse.h"

/* ---- nodes that were seen ------------------------------------------------------------------------- */

static bool has_seen(const struct nm_lenders *all, const char *host, int32_t port)
{
    for (size_t i = 0; i < all->n_seen; i++)
        if (all->seen[i].port == port && nm_streq(all->seen[i].host, host))
            return true;
    return false;
}

/* If there are too many nodes, each new one replaces another one in turn. Without memory, the node isn't noted. */
static void add_seen(struct nm_lenders *all, const char *host, int32_t port)
{
    const size_t at = all->n_seen < NM_YARN_ALLOC_NODES_MAX ? all->n_seen : all->replaced++ % NM_YARN_ALLOC_NODES_MAX;
    char *copy = strdup(host);

    if (!all->seen)
        all->seen = calloc(NM_YARN_ALLOC_NODES_MAX, sizeof *all->seen);
    if (!all->seen || !copy) {
        free(copy);
        return;
    }
    free((char *)(uintptr_t)all->seen[at].host);
    all->seen[at] = (struct nm_yarn_alloc_node){.host = copy, .port = port, .room = -1};
    all->n_seen = NM_MAX(all->n_seen, at + 1);
    all->has_new = true;
}

void nm_lenders_note_node(struct nm_stage_context *c, const char *host, int32_t port)
{
    if (!c->settings->lending.observes || c->settings->distributed || !host || !*host)
        return;
    if (!has_seen(&c->lenders, host, port))
        add_seen(&c->lenders, host, port);
}

void nm_lenders_note_address(struct nm_stage_context *c, const char *address)
{
    const char *colon = address ? strrchr(address, ':') : NULL;
    char host[NM_YARN_ALLOC_NAME_MAX + 1];
    uint64_t port;

    if (!colon || (size_t)(colon - address) >= sizeof host || nm_parse_u64(colon + 1, &port) < 0 || port > UINT16_MAX)
        return;
    (void)snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
    nm_lenders_note_node(c, host, (int32_t)port);
}

void nm_lenders_done(struct nm_lenders *all)
{
    for (size_t i = 0; i < all->n_seen; i++)
        free((char *)(uintptr_t)all->seen[i].host);
    free(all->seen);
    nm_yarn_allocator_free(all->nodes);
    *all = (struct nm_lenders){};
}

/* ---- room ----------------------------------------------------------------------------------------- */

static void look_up(void *userdata, const struct nm_yarn_alloc_node *node, struct nm_yarn_alloc_measure *ret)
{
    const struct nm_lender *l = userdata;
    const struct nm_peer_caller caller = {.attempt = l->m->attempt, .submitter = l->m->submitter};

    nm_node_rooms_look_up(l->m->context->rooms, &caller, node->host, node->port, ret);
}

static int64_t lendable(const void *userdata, const char *host, int32_t port)
{
    const struct nm_lender *l = userdata;

    return l->m->context->settings->lending.node_max_mib - nm_lender_observed_on(l, host, port);
}

/* The limits that lending would have. The ResourceManager's smallest container and its steps aren't known. */
static struct nm_yarn_alloc_limits limits_of_seen(const struct nm_lender *l)
{
    const struct nm_yarn_settings *s = l->m->context->settings;

    return (struct nm_yarn_alloc_limits){
        .max = {INT64_MAX, INT32_MAX}, .per_heartbeat = (int32_t)s->per_am_heartbeat, .fill = s->fill_nodes,
        .queue_length = (int32_t)s->queue_max_length, .window_usec = NM_NODE_ROOMS_CLAIM_USEC, .lends = true,
        .lendable = s->lending.node_max_mib >= 0 ? lendable : NULL, .userdata = l};
}

/* Returns the nodes that were seen, with the limits of this lender. NULL: no memory. */
static struct nm_yarn_allocator *seen_by(const struct nm_lender *l)
{
    struct nm_lenders *all = &l->m->context->lenders;
    const struct nm_yarn_alloc_limits limits = limits_of_seen(l);

    if (!all->nodes && nm_yarn_allocator_new(&all->nodes) < 0)
        return NULL;
    if (all->has_new && nm_yarn_allocator_set_nodes(all->nodes, all->seen, all->n_seen) < 0)
        return NULL;
    all->has_new = false;
    nm_yarn_allocator_set_limits(all->nodes, &limits);
    return all->nodes;
}

/* Looks up what the nodes have said last, once for each plan, and asks them if it is time. */
static void look_up_rooms(struct nm_lender *l)
{
    struct nm_yarn_allocator *seen;

    if (l->has_rooms)
        return;
    l->has_rooms = true;
    if (l->m->distribute)
        nm_distribute_look_up_rooms(l->m->distribute);
    else if ((seen = seen_by(l)))
        nm_yarn_allocator_measure(seen, nm_steady_usec(), look_up, l);
}

static struct nm_yarn_alloc_size alloc_size(const struct nm_lend_size *size)
{
    return (struct nm_yarn_alloc_size){size->memory_mib, size->vcores};
}

static uint32_t startable(void *userdata, const struct nm_lend_size *size)
{
    struct nm_lender *l = userdata;
    const struct nm_yarn_allocator *seen;

    look_up_rooms(l);
    if (l->m->distribute)
        return nm_distribute_startable(l->m->distribute, alloc_size(size));
    seen = seen_by(l);
    return seen ? nm_yarn_allocator_startable(seen, alloc_size(size), nm_steady_usec()) : 0;
}

static int64_t lendable_mib(const struct nm_lender *l)
{
    const struct nm_yarn_allocator *seen;

    if (l->m->distribute)
        return nm_distribute_lendable_mib(l->m->distribute);
    seen = seen_by(l);
    return seen ? nm_yarn_allocator_lendable_mib(seen) : 0;
}

void nm_lender_limit_by_nodes(struct nm_lender *l, struct nm_lend_limits *limits)
{
    if (!limits->observes && !(l->m->lends && l->m->distribute))
        return;
    l->has_rooms = false;
    limits->node_memory_left_mib = lendable_mib(l);
    limits->startable = startable;
    limits->userdata = l;
}

/* ---- containers that would be lent ---------------------------------------------------------------- */

int64_t nm_lender_observed_on(const void *userdata, const char *host, int32_t port)
{
    const struct nm_lender *l = userdata;
    int64_t sum_mib = 0;

    for (size_t i = 0; i < l->n_observed; i++)
        if (l->observed[i].port == port && nm_streq(l->observed[i].host, host))
            sum_mib += l->observed[i].memory_mib;
    return sum_mib;
}

static void remove_at(struct nm_lender *l, size_t i)
{
    struct nm_lender_observed *o = &l->observed[i];

    nm_node_rooms_observe(l->m->context->rooms, o->host, o->port, -o->memory_mib);
    free(o->host);
    l->n_observed--;
    (void)memmove(o, o + 1, (l->n_observed - i) * sizeof *o);
}

void nm_lender_drop_observed(struct nm_lender *l)
{
    while (l->n_observed > 0)
        remove_at(l, l->n_observed - 1);
}

static int add(struct nm_lender *l, const struct nm_lend_key *key, const struct nm_yarn_alloc_node *node,
               int64_t memory_mib)
{
    struct nm_lender_observed o = {
        .key = *key, .host = strdup(node->host), .port = node->port, .memory_mib = memory_mib};

    if (!o.host || NM_ARRAY_ROOM(l->observed, l->n_observed, l->observed_size) < 0) {
        free(o.host);
        return -ENOMEM;
    }
    l->observed[l->n_observed++] = o;
    nm_node_rooms_observe(l->m->context->rooms, o.host, o.port, o.memory_mib);
    return 0;
}

static size_t find_nodes(struct nm_lender *l, struct nm_yarn_alloc_size *size, const struct nm_yarn_alloc_node **ret,
                         size_t n)
{
    const struct nm_yarn_allocator *seen;

    look_up_rooms(l);
    if (l->m->distribute)
        return nm_distribute_try(l->m->distribute, size, ret, n);
    seen = seen_by(l);
    return seen ? nm_yarn_allocator_try(seen, size, nm_steady_usec(), ret, n) : 0;
}

/* Without memory, or if nodes have less room than before a restart of nmd, the next call places the rest. */
static void place(struct nm_lender *l, const struct nm_lend_key_view *v, size_t n)
{
    const struct nm_yarn_alloc_node *nodes[NM_YARN_ALLOC_HEARTBEAT_MAX];
    struct nm_yarn_alloc_size size = alloc_size(&v->size);
    const size_t found = find_nodes(l, &size, nodes, NM_MIN(n, NM_ARRAY_SIZE(nodes)));

    for (size_t i = 0; i < found; i++)
        if (add(l, &v->key, nodes[i], size.memory_mib) < 0)
            break;
    l->has_rooms = false; /* the next key finds less room */
}

struct settling {
    struct nm_lender *l;
    size_t n; /* containers of the keys so far */
};

static size_t count_of(const struct nm_lender *l, const struct nm_lend_key *key)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n_observed; i++)
        n += nm_lender_same_key(&l->observed[i].key, key);
    return n;
}

/* Removes the oldest ones of a key: a grant of the ResourceManager ends the longest wait. */
static void remove_oldest(struct nm_lender *l, const struct nm_lend_key *key, size_t n)
{
    size_t i = 0;

    while (n > 0 && i < l->n_observed)
        if (nm_lender_same_key(&l->observed[i].key, key)) {
            remove_at(l, i);
            n--;
        } else {
            i++;
        }
}

static void settle_key(const struct nm_lend_key_view *v, void *userdata)
{
    struct settling *s = userdata;
    const size_t have = count_of(s->l, &v->key);

    if (have > v->observed)
        remove_oldest(s->l, &v->key, have - v->observed);
    else if (have < v->observed)
        place(s->l, v, v->observed - have);
    s->n += count_of(s->l, &v->key);
}

void nm_lender_settle_observed(struct nm_lender *l)
{
    struct settling s = {.l = l};

    if (l->n_observed == nm_lend_figures(l->books).observed_now && l->settled_revision == nm_lend_revision(l->books))
        return;
    l->settled_revision = nm_lend_revision(l->books);
    nm_lend_each_key(l->books, settle_key, &s);
    if (l->n_observed > s.n) /* the books have dropped a key; the next call places the others again */
        nm_lender_drop_observed(l);
}
