/* SPDX-License-Identifier: Apache-2.0 */

/* Connections to nodes, and their calls: see peer-state.h. */

#include "yarn/peer/peer-state.h"

#include <errno.h>

#include "yarn/id-messages.h"

static const char *const protocols[] = {
    [NM_PEER_PROTOCOL_ROOM] = NM_PEER_PROTOCOL,
    [NM_PEER_PROTOCOL_CONTAINERS] = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB",
};

/* ---- calls -------------------------------------------------------------------------------- */

struct nm_peer_call *nm_peer_call_free(struct nm_peer_call *c)
{
    if (!c)
        return NULL;
    free(c->ids);
    nm_token_free(c->token);
    free(c);
    return NULL;
}

static void add_call(struct nm_peer_link *l, struct nm_peer_call *c)
{
    c->link = l;
    c->next = l->calls;
    l->calls = c;
    l->n_calls++;
}

static void remove_call(struct nm_peer_link *l, struct nm_peer_call *c)
{
    struct nm_peer_call **at = &l->calls;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    l->n_calls--;
}

/* Calls the callbacks of failed calls. A callback may begin calls, and may forget calls of this list. */
static void deliver(struct nm_peers *all)
{
    for (struct nm_peer_call *c; (c = all->ended);) {
        all->ended = c->next;
        c->finish(c, c->error, NULL, NULL);
        nm_peer_call_free(c);
    }
}

/* ---- links -------------------------------------------------------------------------------- */

/* Frees a link. Its calls fail with this error; their callbacks are due. */
static void drop_link(struct nm_peers *all, struct nm_peer_link *l, int error)
{
    struct nm_peer_link **at = &all->links;

    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    all->n_links--;
    l->node->n_links--;
    nm_hadoop_client_free(l->client);
    for (struct nm_peer_call *c; (c = l->calls);) {
        remove_call(l, c);
        c->link = NULL;
        c->error = error;
        c->next = all->ended;
        all->ended = c;
    }
    nm_token_free(l->token);
    free(l);
}

/* Marks a node as unreachable. All its links fail. */
static void fail_node(struct nm_peers *all, struct nm_peer_node *n, int error)
{
    struct nm_peer_link *next;

    nm_peer_node_set_unreachable(n, nm_now_usec());
    for (struct nm_peer_link *l = all->links; l; l = next) {
        next = l->next;
        if (l->node == n)
            drop_link(all, l, error);
    }
}

void nm_peer_call_on_reply(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct nm_peer_call *c = userdata;
    struct nm_peer_link *l = c->link;

    remove_call(l, c);
    c->link = NULL;
    l->used_usec = nm_now_usec();
    if (error == 0 || error == -EREMOTEIO)
        l->reached = true;
    else if (!l->reached)
        nm_peer_node_set_unreachable(l->node, nm_now_usec());
    /* the callback may begin a call, for which this link may be dropped */
    c->finish(c, error, answer, why);
    nm_peer_call_free(c);
}

static void on_closed(void *userdata, int error, const struct nm_exception *why)
{
    struct nm_peer_link *l = userdata;
    struct nm_peers *all = l->node->all;

    (void)why; /* the calls have got it */
    drop_link(all, l, error ?: -ECONNRESET);
    deliver(all);
}

static int connect_link(struct nm_peers *all, struct nm_peer_link *l)
{
    const struct nm_resolved *to = l->node->addresses;
    const unsigned i = l->node->attempts++ % to->n;
    const struct nm_hadoop_client_options o = {
        .address = (const struct sockaddr *)&to->addresses[i], .address_size = to->sizes[i],
        .protocol = protocols[l->protocol], .version = 1, .token = l->token, .closed = on_closed, .userdata = l,
        .connect_usec = NM_PEER_CALL_USEC, .frame_max = NM_MIB};
    int r = nm_hadoop_client_new(all->p.event, &o, &l->client);

    for (struct nm_peer_call *c = l->calls; r == 0 && c; c = c->next)
        r = c->send(c, l->client);
    return r;
}

static void on_resolved(const struct nm_resolved *found, void *userdata)
{
    struct nm_peer_node *n = userdata;
    struct nm_peers *all = n->all;
    struct nm_peer_link *next;
    int r = -ENOMEM;

    n->resolve = nm_resolve_free(n->resolve);
    if (found->error == 0 && found->n > 0)
        n->addresses = malloc(sizeof *n->addresses);
    if (!n->addresses) {
        fail_node(all, n, -EHOSTUNREACH);
    } else {
        *n->addresses = *found;
        for (struct nm_peer_link *l = all->links; l; l = next) {
            next = l->next;
            if (l->node != n || l->client)
                continue;
            r = connect_link(all, l);
            if (r < 0)
                drop_link(all, l, r);
        }
    }
    deliver(all);
}

static struct nm_peer_link *find_link(const struct nm_peers *all, const struct nm_peer_node *node,
                                      const struct nm_yarn_attempt_id *attempt, enum nm_peer_protocol protocol)
{
    struct nm_peer_link *l = all->links;

    while (l && (l->node != node || l->protocol != protocol || !nm_yarn_same_attempt(&l->attempt, attempt)))
        l = l->next;
    return l;
}

/* Closes the connection that has been idle for the longest time. Returns false if all are in use. */
static bool make_room(struct nm_peers *all)
{
    struct nm_peer_link *found = NULL;

    for (struct nm_peer_link *l = all->links; l; l = l->next)
        if (!l->calls && (!found || l->used_usec < found->used_usec))
            found = l;
    if (found)
        drop_link(all, found, 0);
    return found != NULL;
}

static int sign(struct nm_peers *all, const struct nm_peer_caller *caller, const struct nm_peer_node *node,
                struct nm_token **ret)
{
    Hadoop__Token *message;
    struct nm_token token;
    struct nm_arena a;
    int r;

    nm_arena_init(&a, nm_arena_limit(NM_TOKEN_PART_MAX), NULL);
    r = nm_yarn_sign_nm(all->p.signer, &caller->attempt, caller->submitter, node->host, node->port, nm_now_usec(), &a,
                        &message);
    if (r == 0) {
        token = nm_token_from_message(message);
        r = nm_token_copy(&token, ret);
    }
    nm_arena_done(&a);
    return r;
}

static int new_link(struct nm_peers *all, const struct nm_peer_caller *caller, struct nm_peer_node *node,
                    enum nm_peer_protocol protocol, struct nm_peer_link **ret)
{
    struct nm_peer_link *l;
    int r;

    if (all->n_links == NM_PEER_LINKS_MAX && !make_room(all))
        return -EBUSY;
    l = calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;
    *l = (struct nm_peer_link){.node = node, .attempt = caller->attempt, .protocol = protocol};
    r = sign(all, caller, node, &l->token);
    if (r == 0 && !node->addresses && !node->resolve)
        r = nm_resolve_new(all->p.event, node->host, (uint16_t)node->port, on_resolved, node, &node->resolve);
    if (r < 0) {
        nm_token_free(l->token);
        free(l);
        return r;
    }
    l->next = all->links;
    all->links = l;
    all->n_links++;
    node->n_links++;
    *ret = l;
    return 0;
}

/* ---- for peer.c --------------------------------------------------------------------------- */

/* If the call can't be sent, the link has no other calls, or its connection has ended and on_closed() will end its
 * other calls. */
static int begin_call(struct nm_peers *all, struct nm_peer_link *l, struct nm_peer_call *c)
{
    int r = 0;

    add_call(l, c);
    if (l->client)
        r = c->send(c, l->client);
    else if (l->node->addresses)
        r = connect_link(all, l);
    if (r == 0)
        return 0;
    remove_call(l, c);
    if (!l->calls)
        drop_link(all, l, r);
    return r;
}

int nm_peer_links_call(struct nm_peers *all, const struct nm_peer_caller *caller, struct nm_peer_node *node,
                       enum nm_peer_protocol protocol, struct nm_peer_call *c)
{
    const uint64_t now = nm_now_usec();
    struct nm_peer_link *l = find_link(all, node, &caller->attempt, protocol);
    int r = 0;

    if (now < node->retry_usec)
        return -EHOSTUNREACH;
    if (l && l->n_calls == NM_PEER_LINK_CALLS_MAX)
        return -EBUSY;
    if (!l)
        r = new_link(all, caller, node, protocol, &l);
    if (r < 0)
        return r;
    (void)snprintf(c->host, sizeof c->host, "%s", node->host);
    c->port = node->port;
    c->due_usec = now + NM_PEER_CALL_USEC;
    l->used_usec = now;
    nm_peers_start_timer(all);
    return begin_call(all, l, c);
}

static bool has_due_call(const struct nm_peer_link *l, uint64_t now_usec)
{
    for (const struct nm_peer_call *c = l->calls; c; c = c->next)
        if (now_usec >= c->due_usec)
            return true;
    return false;
}

static struct nm_peer_link *find_due(const struct nm_peers *all, uint64_t now_usec)
{
    struct nm_peer_link *l = all->links;

    while (l && !has_due_call(l, now_usec))
        l = l->next;
    return l;
}

void nm_peer_links_tick(struct nm_peers *all, uint64_t now_usec)
{
    struct nm_peer_link *next;

    for (struct nm_peer_link *l; (l = find_due(all, now_usec));)
        fail_node(all, l->node, -ETIMEDOUT);
    for (struct nm_peer_link *l = all->links; l; l = next) {
        next = l->next;
        if (!l->calls && now_usec >= l->used_usec + NM_PEER_IDLE_USEC)
            drop_link(all, l, 0);
    }
    deliver(all);
}

void nm_peer_links_forget(struct nm_peers *all, const void *userdata)
{
    for (struct nm_peer_link *l = all->links; l; l = l->next)
        for (struct nm_peer_call *c = l->calls; c; c = c->next)
            c->forgotten |= c->userdata == userdata;
    for (struct nm_peer_call *c = all->ended; c; c = c->next)
        c->forgotten |= c->userdata == userdata;
}

void nm_peer_links_done(struct nm_peers *all)
{
    while (all->links)
        drop_link(all, all->links, -ECANCELED);
    for (struct nm_peer_call *c; (c = all->ended);) {
        all->ended = c->next;
        nm_peer_call_free(c);
    }
}
