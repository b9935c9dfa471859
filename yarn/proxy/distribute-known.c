/* SPDX-License-Identifier: Apache-2.0 */

/* Data about the cluster, and the state that survives a restart of nmd: see distribute-state.h. */

#include "yarn/proxy/distribute-state.h"

#include <errno.h>

#include "util/array.h"
#include "util/clock.h"

/* Time from a placement until the ResourceManager's list takes it into account. It consists of the interval until the
 * node's next heartbeat and the interval at which the list is sorted
 * (yarn.resourcemanager.nm-container-queuing.sorting-nodes-interval-ms). Each interval is one second by default. */
#define WINDOW_USEC (3 * NM_USEC_PER_SEC)
/* Limit of known nodes. The limit is needed because all known nodes are written with each change. For a node beyond the
 * limit, the master gets another token although it has one. */
#define KNOWN_MAX 4096u
/* Values of response_id for containers that the master will not receive. RELEASED minus the id of the call that has
 * released them stands for this call. */
#define NOT_RELEASED (-2)
#define RELEASED (-3)
#define RESPONSE_ID_MASK 0x3fffffff

/* ---- owned bytes ------------------------------------------------------------------------------ */

static void drop_bytes(struct nm_bytes *b)
{
    if (b->data)
        explicit_bzero((void *)(uintptr_t)b->data, b->size); /* the bytes may contain tokens */
    free((void *)(uintptr_t)b->data);
    *b = (struct nm_bytes){};
}

static int copy_bytes(struct nm_bytes from, struct nm_bytes *ret)
{
    uint8_t *data = malloc(from.size + 1);

    if (!data)
        return -ENOMEM;
    if (from.size > 0)
        (void)memcpy(data, from.data, from.size);
    *ret = (struct nm_bytes){data, from.size};
    return 0;
}

static int pack(const ProtobufCMessage *m, struct nm_bytes *ret)
{
    const size_t size = protobuf_c_message_get_packed_size(m);
    uint8_t *data = malloc(size + 1);

    if (!data)
        return -ENOMEM;
    *ret = (struct nm_bytes){data, protobuf_c_message_pack(m, data)};
    return 0;
}

/* ---- the cluster ------------------------------------------------------------------------------ */

int nm_distribute_set_nodes(struct nm_distribute *d, struct nm_arena *a, Masters__NodeForScheduling *const *nodes,
                            size_t n)
{
    struct nm_yarn_alloc_node *list = nm_arena_alloc(a, (n + 1) * sizeof *list);
    size_t k = 0;

    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (nodes[i]->id && nodes[i]->id->host)
            list[k++] = (struct nm_yarn_alloc_node){
                .host = nodes[i]->id->host, .port = nodes[i]->id->port, .web_address = nodes[i]->web_address,
                .rack = nodes[i]->rack, .partition = nodes[i]->partition, .room = -1};
    d->listed = true;
    return nm_yarn_allocator_set_nodes(d->allocator, list, k);
}

/* Searches the sorted list, which has one entry per host. If a host has two NodeManagers, the list contains the newer
 * one, and unnecessary tokens are sent for the other one. */
bool nm_distribute_is_known(const struct nm_distribute *d, const char *host, int32_t port)
{
    bool found;
    size_t i = nm_bsearch_name(d->known, d->n_known, sizeof *d->known, host, &found);

    return found && d->known[i].port == port;
}

static int add_known(struct nm_distribute *d, const char *host, int32_t port)
{
    bool found;
    size_t i = nm_bsearch_name(d->known, d->n_known, sizeof *d->known, host, &found);
    struct nm_yarn_stored_node *list;
    char *copy;

    if (found) {
        d->dirty |= d->known[i].port != port;
        d->known[i].port = port;
        return 0;
    }
    if (d->n_known == KNOWN_MAX)
        return 0;
    list = reallocarray(d->known, d->n_known + 1, sizeof *list);
    if (!list)
        return -ENOMEM;
    d->known = list;
    copy = strdup(host);
    if (!copy)
        return -ENOMEM;
    (void)memmove(&list[i + 1], &list[i], (d->n_known - i) * sizeof *list);
    list[i] = (struct nm_yarn_stored_node){copy, port};
    d->n_known++;
    d->dirty = true;
    return 0;
}

void nm_distribute_note_tokens(struct nm_distribute *d, const Masters__AllocateAnswer *answer)
{
    for (size_t i = 0; i < answer->n_node_tokens; i++)
        if (answer->node_tokens[i]->node && answer->node_tokens[i]->node->host)
            (void)add_known(d, answer->node_tokens[i]->node->host, answer->node_tokens[i]->node->port);
}

static struct nm_yarn_alloc_size size_of(const Hadoop__Resource *m, struct nm_yarn_alloc_size fallback)
{
    return m ? (struct nm_yarn_alloc_size){m->memory, m->vcores} : fallback;
}

/* Returns the queue length of the nodes. It is this node's limit, since all nodes are assumed to have the same
 * configuration. When the ResourceManager knows the nodes' queues, it may send a lower limit to all nodes. The nodes
 * then give back the containers beyond this limit. */
static int32_t queue_length(const struct nm_distribute *d)
{
    const int32_t own = (int32_t)d->m->context->settings->queue_max_length;
    const int32_t reported = d->m->context->queue_max_length;

    return reported >= 0 ? NM_MIN(own, reported) : own;
}

/* Containers that the master itself asks for as opportunistic ones are placed as without lending. */
static bool is_own(const void *userdata, int32_t priority, int64_t request_id)
{
    const struct nm_distribute *d = userdata;

    return !nm_lend_is_asked(d->m->lends, &(struct nm_lend_key){priority, request_id});
}

/* The books contain all containers of earlier calls: the master repeats a call whose answer was lost, and gets the same
 * containers again. */
static int64_t lendable(const void *userdata, const char *host, int32_t port)
{
    const struct nm_distribute *d = userdata;
    const struct nm_stage_master *m = d->m;
    int64_t used_mib = m->observed_on ? m->observed_on(m->observer, host, port) : 0;

    if (m->lends)
        used_mib += nm_lend_memory_on(m->lends, host, port);
    return m->context->settings->lending.node_max_mib - used_mib;
}

void nm_distribute_check_queues(struct nm_distribute *d)
{
    d->limits.queue_length = queue_length(d);
    d->limits.lends = d->m->lends != NULL;
    d->limits.is_own = is_own;
    d->limits.lendable = d->m->context->settings->lending.node_max_mib >= 0 ? lendable : NULL;
    d->limits.userdata = d;
    d->limits.lends_to_unknown = d->m->context->settings->lending.central;
    nm_yarn_allocator_set_limits(d->allocator, &d->limits);
}

static void look_up(void *userdata, const struct nm_yarn_alloc_node *node, struct nm_yarn_alloc_measure *ret)
{
    const struct nm_distribute *d = userdata;
    const struct nm_peer_caller caller = {.attempt = d->m->attempt, .submitter = d->m->submitter};

    nm_node_rooms_look_up(d->m->context->rooms, &caller, node->host, node->port, ret);
}

void nm_distribute_measure(struct nm_distribute *d, uint64_t now_usec)
{
    nm_yarn_allocator_measure(d->allocator, now_usec, look_up, d);
}

bool nm_distribute_has_keys(const struct nm_distribute *d)
{
    const struct nm_yarn_cluster_keys *keys = d->m->context->signer.keys;

    return keys->container.current.size > 0 && keys->nm.current.size > 0;
}

int64_t nm_distribute_lendable_mib(const struct nm_distribute *d)
{
    return nm_yarn_allocator_lendable_mib(d->allocator);
}

void nm_distribute_look_up_rooms(struct nm_distribute *d)
{
    if (!d->registered || !nm_distribute_has_keys(d))
        return;
    nm_distribute_check_queues(d);
    nm_distribute_measure(d, nm_steady_usec());
}

uint32_t nm_distribute_startable(const struct nm_distribute *d, struct nm_yarn_alloc_size size)
{
    const uint64_t now = nm_steady_usec();

    if (!d->registered)
        return 0;
    if (!d->listed || !nm_distribute_has_keys(d) || nm_yarn_allocator_is_awaiting(d->allocator, now))
        return NM_LEND_STARTABLE_UNKNOWN;
    return nm_yarn_allocator_startable(d->allocator, size, now);
}

size_t nm_distribute_try(const struct nm_distribute *d, struct nm_yarn_alloc_size *size,
                         const struct nm_yarn_alloc_node **ret, size_t n)
{
    if (!d->registered || !nm_distribute_has_keys(d))
        return 0;
    return nm_yarn_allocator_try(d->allocator, size, nm_steady_usec(), ret, n);
}

static void take_limits(struct nm_distribute *d, const Masters__DistributedRegisterAnswer *m)
{
    const struct nm_yarn_settings *s = d->m->context->settings;
    struct nm_yarn_alloc_limits limits = {
        .per_heartbeat = (int32_t)s->per_am_heartbeat, .fill = s->fill_nodes, .window_usec = WINDOW_USEC};

    limits.min = size_of(m->minimum, limits.min);
    limits.max = size_of(m->maximum, (struct nm_yarn_alloc_size){INT64_MAX, INT32_MAX});
    limits.increment = size_of(m->increment, limits.min); /* the answer may contain no increment */
    d->limits = limits;
    nm_distribute_check_queues(d);
    d->expiry_msec = m->token_expiry_msec;
}

/* Sets the start of the container numbers. A master that registers again continues with its former numbers, so that no
 * number is used twice. */
static void take_numbers(struct nm_distribute *d, int64_t start)
{
    d->number_start = start;
    if (!d->has_number)
        d->last_number = start;
    d->has_number = true;
}

static void take_terms(struct nm_distribute *d, const Masters__DistributedRegisterAnswer *m)
{
    take_limits(d, m);
    take_numbers(d, m->container_id_start);
    d->registered = true;
}

/* Handles the containers of the last call before a registration, after which response ids start at 0 again. The
 * ResourceManager notes the containers in a call before it refuses the call of a master that isn't registered with it.
 * It would wait ten minutes for a start of a container that the master doesn't know, and show it as running. */
static void abandon_placed(struct nm_distribute *d)
{
    if (d->n_placed > 0 && !d->is_answered && d->response_id >= 0)
        d->response_id = NOT_RELEASED;
    else
        nm_distribute_drop_placed(d);
}

int nm_distribute_registered(struct nm_distribute *d, struct nm_stage_call *c,
                             const Masters__DistributedRegisterAnswer *m)
{
    struct nm_bytes answer = {};
    int r = pack(&m->base, &answer);

    if (r == 0)
        r = nm_distribute_set_nodes(d, &c->arena, m->nodes, m->n_nodes);
    if (r < 0) {
        drop_bytes(&answer);
        return r;
    }
    take_terms(d, m);
    drop_bytes(&d->answer);
    d->answer = answer;
    abandon_placed(d);
    d->dirty = true;
    return 0;
}

/* ---- containers of the last call ---------------------------------------------------------------- */

/* Returns whether this call must release the containers of an earlier call. The id of the call that did so is kept in
 * response_id, so that a repetition of this call releases them again. */
bool nm_distribute_must_release(struct nm_distribute *d, int32_t response_id)
{
    const int32_t by_this_call = RELEASED - (response_id & RESPONSE_ID_MASK);

    if (d->n_placed == 0 || d->response_id > NOT_RELEASED)
        return false;
    if (d->response_id == by_this_call)
        return true;
    if (d->response_id != NOT_RELEASED) {
        nm_distribute_drop_placed(d); /* the master has received the answer to the call that released them */
        return false;
    }
    d->response_id = by_this_call;
    d->dirty = true;
    return true;
}

void nm_distribute_drop_placed(struct nm_distribute *d)
{
    for (size_t i = 0; i < d->n_placed; i++)
        drop_bytes(&d->placed[i]);
    free(d->placed);
    d->placed = NULL;
    d->dirty |= d->n_placed > 0;
    d->n_placed = 0;
}

int nm_distribute_persist_placed(struct nm_distribute *d, int32_t response_id, Masters__Container *const *placed,
                                 size_t n)
{
    int r = 0;

    nm_distribute_drop_placed(d);
    if (n == 0)
        return 0;
    d->placed = calloc(n + 1, sizeof *d->placed);
    if (!d->placed)
        return -ENOMEM;
    d->response_id = response_id;
    d->is_answered = false;
    for (; r == 0 && d->n_placed < n; d->n_placed += r == 0)
        r = pack(&placed[d->n_placed]->base, &d->placed[d->n_placed]);
    d->dirty = true;
    return r;
}

int nm_distribute_get_placed(const struct nm_distribute *d, struct nm_arena *a, Masters__Container ***ret)
{
    Masters__Container **list = nm_arena_alloc(a, (d->n_placed + 1) * sizeof *list);

    for (size_t i = 0; list && i < d->n_placed; i++) {
        list[i] = (Masters__Container *)nm_arena_unpack(a, &masters__container__descriptor, d->placed[i]);
        if (!list[i])
            return -ENOMEM;
    }
    *ret = list;
    return list ? 0 : -ENOMEM;
}

/* ---- persistence ------------------------------------------------------------------------------ */

int nm_distribute_save(struct nm_distribute *d)
{
    int r = 0;

    if (d->dirty || d->saved_revision != nm_yarn_allocator_revision(d->allocator))
        r = d->m->save(d->m);
    return r;
}

int nm_distribute_persist(void *stage, struct nm_yarn_stored_master *m)
{
    struct nm_distribute *d = stage;
    size_t size = 0;
    uint8_t *asks;
    int r = nm_yarn_allocator_pack(d->allocator, &asks, &size);

    if (r < 0)
        return r;
    free(d->asks);
    d->asks = asks;
    m->registered = d->answer;
    m->asks = (struct nm_bytes){asks, size};
    m->has_number = d->has_number;
    m->last_number = d->last_number;
    m->response_id = d->response_id;
    m->placed = d->placed;
    m->n_placed = d->n_placed;
    m->known_nodes = d->known;
    m->n_known_nodes = d->n_known;
    d->saved_revision = nm_yarn_allocator_revision(d->allocator);
    d->dirty = false;
    return 0;
}

/* Restores the answer to the registration without its list of nodes. Some of the listed nodes may no longer exist.
 * Containers on a node that the ResourceManager doesn't know are lost, and neither the master nor the proxy is
 * informed. The next answer lists the current nodes. */
static int restore_answer(struct nm_distribute *d, struct nm_bytes packed)
{
    const Masters__DistributedRegisterAnswer *m;
    struct nm_arena a;
    int r;

    nm_arena_init(&a, nm_arena_limit(packed.size), NULL);
    m = (const Masters__DistributedRegisterAnswer *)nm_arena_unpack(
        &a, &masters__distributed_register_answer__descriptor, packed);
    r = m ? 0 : nm_arena_error(&a);
    if (m)
        take_terms(d, m);
    nm_arena_done(&a);
    return r;
}

int nm_distribute_restore(struct nm_distribute *d, const struct nm_yarn_stored_master *kept)
{
    int r = kept->asks.size > 0 ? nm_yarn_allocator_restore(kept->asks, &d->allocator) : 0;

    d->has_number = kept->has_number;
    d->last_number = kept->last_number;
    d->response_id = kept->response_id;
    d->is_answered = true; /* this isn't known; a container that the master may have received isn't released */
    if (r == 0 && kept->registered.size > 0 && !d->allocator)
        r = nm_yarn_allocator_new(&d->allocator);
    if (r == 0 && kept->registered.size > 0)
        r = restore_answer(d, kept->registered);
    if (r == 0)
        r = copy_bytes(kept->registered, &d->answer);
    d->placed = calloc(kept->n_placed + 1, sizeof *d->placed);
    if (!d->placed)
        return -ENOMEM;
    for (; r == 0 && d->n_placed < kept->n_placed; d->n_placed += r == 0)
        r = copy_bytes(kept->placed[d->n_placed], &d->placed[d->n_placed]);
    for (size_t i = 0; r == 0 && i < kept->n_known_nodes; i++)
        r = add_known(d, kept->known_nodes[i].host, kept->known_nodes[i].port);
    return r;
}

void nm_distribute_free(struct nm_distribute *d)
{
    nm_distribute_drop_placed(d);
    drop_bytes(&d->answer);
    for (size_t i = 0; i < d->n_known; i++)
        free((void *)(uintptr_t)d->known[i].host);
    free(d->known);
    free(d->asks);
    nm_yarn_allocator_free(d->allocator);
    free(d);
}
