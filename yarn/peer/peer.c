/* SPDX-License-Identifier: Apache-2.0 */

/* See peer.h. peer-state.h describes the parts. */

#include "yarn/peer/peer.h"

#include <errno.h>

#include "yarn/containers.pb-c.h"
#include "yarn/id-messages.h"
#include "yarn/peer/peer-state.h"
#include "yarn/peer/peer.pb-c.h"

/* Java's NodeManager doesn't know the protocol. If hadoop.security.authorization is true, it refuses the connection. */
#define UNKNOWN_PROTOCOL "Unknown protocol"
#define OBSERVED_MIB_MAX (INT64_C(1) << 40) /* so that sums don't overflow */

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_peers *all = userdata;

    (void)source, (void)usec;
    nm_peer_links_tick(all, nm_now_usec());
    nm_peer_rm_tick(all, nm_now_usec());
    if (all->links || all->rm.client || all->rm.questions)
        nm_peers_start_timer(all);
    return 0;
}

int nm_peers_new(const struct nm_peers_params *p, struct nm_peers **ret)
{
    _cleanup_(nm_peers_freep) struct nm_peers *all = calloc(1, sizeof *all);
    int r;

    if (!all)
        return -ENOMEM;
    all->p = *p;
    r = sd_event_add_time_relative(p->event, &all->timer, CLOCK_BOOTTIME, 0, NM_USEC_PER_MSEC, on_tick, all);
    if (r >= 0)
        r = sd_event_source_set_enabled(all->timer, SD_EVENT_OFF);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(all);
    return 0;
}

struct nm_peers *nm_peers_free(struct nm_peers *all)
{
    if (!all)
        return NULL;
    nm_peer_links_done(all);
    nm_peer_rm_done(all);
    nm_peer_nodes_done(all);
    sd_event_source_disable_unref(all->timer);
    free(all);
    return NULL;
}

void nm_peers_forget(struct nm_peers *all, const void *userdata)
{
    nm_peer_links_forget(all, userdata);
    nm_peer_rm_forget(all, userdata);
}

enum nm_peer_kind nm_peers_kind(const struct nm_peers *all, const char *host, int32_t port)
{
    const struct nm_peer_node *n = nm_peer_nodes_find(all, host, port);

    return n ? nm_peer_node_kind(n, nm_now_usec()) : NM_PEER_UNKNOWN;
}

/* ---- rooms -------------------------------------------------------------------------------- */

static bool is_other(int error, const struct nm_exception *why)
{
    return (error == -EREMOTEIO && why &&
            (why->detail == NM_EXCEPTION_DETAIL_NO_PROTOCOL || nm_exception_is(why, NM_EXCEPTION_NO_PROTOCOL))) ||
           (error == -EACCES && why && strstr(why->message, UNKNOWN_PROTOCOL));
}

static int64_t positive(int64_t value)
{
    return NM_MAX(value, (int64_t)0);
}

static struct nm_peer_room read_room(const Peer__RoomAnswer *m)
{
    return (struct nm_peer_room){
        .memory_mib = positive(m->memory_mib),
        .guaranteed_free_memory_mib = positive(m->guaranteed_free_memory_mib),
        .vcores = NM_MAX(m->vcores, 0),
        .guaranteed_free_vcores = NM_MAX(m->guaranteed_free_vcores, 0),
        .unused_memory_mib = positive(m->unused_memory_mib),
        .observed_mib = NM_MIN(positive(m->observed_mib), OBSERVED_MIB_MAX),
        .queue_length = NM_MAX(m->queue_length, 0),
        .queue_max = NM_MAX(m->queue_max, 0),
        .admits = m->admits,
    };
}

/* The states are in the order of the ids. States that are missing or not known here count as unknown. */
static void read_states(const Peer__RoomAnswer *m, enum nm_peer_container_state *states, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const int32_t state = i < m->n_states ? m->states[i] : 0;

        states[i] = state == NM_PEER_CONTAINER_QUEUED || state == NM_PEER_CONTAINER_RUNNING
                        ? (enum nm_peer_container_state)state
                        : NM_PEER_CONTAINER_UNKNOWN;
    }
}

static void pass_room(struct nm_peer_call *c, const Peer__RoomAnswer *answer)
{
    enum nm_peer_container_state states[NM_PEER_CONTAINERS_MAX];
    struct nm_peer_room room = read_room(answer);
    bool guaranteed[NM_PEER_CONTAINERS_MAX];

    read_states(answer, states, c->n_ids);
    for (size_t i = 0; i < c->n_ids; i++)
        guaranteed[i] = i < answer->n_guaranteed && answer->guaranteed[i];
    room.ids = c->ids;
    room.states = states;
    room.guaranteed = guaranteed;
    room.n = c->n_ids;
    c->on_room(c->userdata, c->host, c->port, 0, &room);
}

/* Remembers the node's kind, even if no caller waits for the answer any more. */
static void finish_room(struct nm_peer_call *c, int error, const ProtobufCMessage *answer,
                        const struct nm_exception *why)
{
    const bool other = is_other(error, why);
    struct nm_peer_node *n = nm_peer_nodes_find(c->all, c->host, c->port);

    if (n && (error == 0 || other))
        nm_peer_node_set_kind(n, other ? NM_PEER_OTHER : NM_PEER_NMD, nm_now_usec());
    if (c->forgotten)
        return;
    if (error == 0)
        pass_room(c, (const Peer__RoomAnswer *)answer);
    else
        c->on_room(c->userdata, c->host, c->port, other ? NM_PEER_E_OTHER : error, NULL);
}

static int send_room(struct nm_peer_call *c, struct nm_hadoop_client *client)
{
    Peer__RoomRequest request = PEER__ROOM_REQUEST__INIT;
    struct nm_yarn_container_message *messages = calloc(c->n_ids + 1, sizeof *messages);
    Hadoop__ContainerId **ids = calloc(c->n_ids + 1, sizeof *ids);
    int r = messages && ids ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < c->n_ids; i++)
        ids[i] = nm_yarn_container_message_set(&messages[i], &c->ids[i]);
    request.ids = ids;
    request.n_ids = c->n_ids;
    request.has_observer = request.has_observed_mib = c->observer > 0;
    request.observer = c->observer;
    request.observed_mib = c->observed_mib;
    if (r == 0)
        r = nm_hadoop_client_call(client, NM_PEER_METHOD_ROOM, &request.base, &peer__room_answer__descriptor, 0,
                                  UINT64_MAX, nm_peer_call_on_reply, c);
    free(messages);
    free(ids);
    return r;
}

/* Returns whether this caller waits for an answer of this node. */
static bool is_asking(const struct nm_peers *all, const struct nm_peer_node *n, const void *userdata)
{
    for (const struct nm_peer_link *l = all->links; l; l = l->next)
        for (const struct nm_peer_call *c = l->node == n ? l->calls : NULL; c; c = c->next)
            if (c->on_room && !c->forgotten && c->userdata == userdata)
                return true;
    return false;
}

static int new_call(struct nm_peers *all, void *userdata, struct nm_peer_call **ret)
{
    struct nm_peer_call *c = calloc(1, sizeof *c);

    if (!c)
        return -ENOMEM;
    c->all = all;
    c->userdata = userdata;
    *ret = c;
    return 0;
}

static int copy_ids(struct nm_peer_call *c, const struct nm_yarn_container_id *ids, size_t n)
{
    c->ids = calloc(n + 1, sizeof *c->ids);
    if (!c->ids)
        return -ENOMEM;
    if (n > 0)
        (void)memcpy(c->ids, ids, n * sizeof *ids);
    c->n_ids = n;
    return 0;
}

int nm_peers_ask_room(struct nm_peers *all, const struct nm_peer_caller *caller, const char *host, int32_t port,
                      const struct nm_yarn_container_id *ids, size_t n, nm_peer_room_cb_t cb, void *userdata)
{
    _cleanup_(nm_peer_call_freep) struct nm_peer_call *c = NULL;
    struct nm_peer_node *node;
    int r = n <= NM_PEER_CONTAINERS_MAX ? 0 : -EINVAL;

    if (r == 0)
        r = nm_peer_nodes_get(all, host, port, nm_now_usec(), &node);
    if (r < 0)
        return r;
    if (nm_peer_node_kind(node, nm_now_usec()) == NM_PEER_OTHER)
        return -EOPNOTSUPP;
    if (is_asking(all, node, userdata))
        return -EBUSY;
    r = new_call(all, userdata, &c);
    if (r == 0)
        r = copy_ids(c, ids, n);
    if (r < 0)
        return r;
    c->send = send_room;
    c->finish = finish_room;
    c->on_room = cb;
    c->observer = caller->observer;
    c->observed_mib = caller->observed_mib;
    r = nm_peer_links_call(all, caller, node, NM_PEER_PROTOCOL_ROOM, c);
    if (r == 0)
        c = NULL;
    return r;
}

/* ---- updates ------------------------------------------------------------------------------ */

static void finish_update(struct nm_peer_call *c, int error, const ProtobufCMessage *answer,
                          const struct nm_exception *why)
{
    (void)why;
    if (error == 0 && ((const Yarn__Outcome *)answer)->n_done == 0)
        error = -EREMOTEIO;
    if (!c->forgotten)
        c->on_update(c->userdata, &c->id, error);
}

static int send_update(struct nm_peer_call *c, struct nm_hadoop_client *client)
{
    Yarn__UpdateRequest request = YARN__UPDATE_REQUEST__INIT;
    Hadoop__Token *token;
    struct nm_arena a;
    int r;

    nm_arena_init(&a, nm_arena_limit(2 * NM_TOKEN_PART_MAX), NULL);
    r = nm_yarn_token_message(c->token, &a, &token);
    request.tokens = &token;
    request.n_tokens = 1;
    if (r == 0)
        r = nm_hadoop_client_call(client, "updateContainer", &request.base, &yarn__outcome__descriptor, 0, UINT64_MAX,
                                  nm_peer_call_on_reply, c);
    nm_arena_done(&a);
    return r;
}

int nm_peers_update(struct nm_peers *all, const struct nm_peer_caller *caller, const char *host, int32_t port,
                    const struct nm_yarn_container_id *id, const Hadoop__Token *token, nm_peer_update_cb_t cb,
                    void *userdata)
{
    _cleanup_(nm_peer_call_freep) struct nm_peer_call *c = NULL;
    const struct nm_token from = nm_token_from_message(token);
    struct nm_peer_node *node;
    int r = nm_peer_nodes_get(all, host, port, nm_now_usec(), &node);

    if (r == 0)
        r = new_call(all, userdata, &c);
    if (r == 0)
        r = nm_token_copy(&from, &c->token);
    if (r < 0)
        return r;
    c->id = *id;
    c->send = send_update;
    c->finish = finish_update;
    c->on_update = cb;
    r = nm_peer_links_call(all, caller, node, NM_PEER_PROTOCOL_CONTAINERS, c);
    if (r == 0)
        c = NULL;
    return r;
}
