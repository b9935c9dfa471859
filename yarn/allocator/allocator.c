/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See allocator.h. During a heartbeat, the room on nodes and the counts of asks only decrease. If no node has room for
 * an ask in one pass, no node will have room for it in the next pass, so the ask isn't tried again. Therefore the
 * number of searches in a heartbeat is at most the number of asks plus the number of containers.
 */

#include "yarn/allocator/allocator.h"

#include <errno.h>
#include <sys/types.h>

#include "yarn/allocator/allocator-state.h"

int nm_yarn_allocator_new(struct nm_yarn_allocator **ret)
{
    struct nm_yarn_allocator *a = calloc(1, sizeof *a);

    if (!a)
        return -ENOMEM;
    *ret = a;
    return 0;
}

struct nm_yarn_allocator *nm_yarn_allocator_free(struct nm_yarn_allocator *a)
{
    if (!a)
        return NULL;
    nm_yarn_ask_table_done(&a->asks);
    nm_yarn_ask_names_done(&a->blacklist);
    nm_yarn_candidates_done(&a->nodes);
    free(a->placed);
    free(a);
    return NULL;
}

void nm_yarn_allocator_set_limits(struct nm_yarn_allocator *a, const struct nm_yarn_alloc_limits *limits)
{
    a->limits = *limits;
    a->has_limits = true;
}

int nm_yarn_allocator_set_nodes(struct nm_yarn_allocator *a, const struct nm_yarn_alloc_node *nodes, size_t n)
{
    return nm_yarn_candidates_set(&a->nodes, nodes, n);
}

void nm_yarn_allocator_measure(struct nm_yarn_allocator *a, uint64_t now_usec, nm_yarn_alloc_look_up_t look_up,
                               void *userdata)
{
    for (size_t i = 0; i < a->nodes.n; i++) {
        struct nm_yarn_candidate *node = &a->nodes.list[i];
        struct nm_yarn_alloc_measure measure = {};

        look_up(userdata, &node->is, &measure);
        nm_yarn_candidate_measure(node, &measure, a->limits.window_usec, now_usec);
    }
}

/* ---- asks --------------------------------------------------------------------------------------- */

static int blacklist(struct nm_yarn_allocator *a, const char *host)
{
    int r;

    if (!nm_yarn_ask_name_is_valid(host))
        return NM_YARN_ALLOC_INVALID;
    if (a->blacklist.n >= NM_YARN_ALLOC_BLACKLIST_MAX && !nm_yarn_ask_names_find(&a->blacklist, host))
        return NM_YARN_ALLOC_TOO_MUCH;
    r = nm_yarn_ask_names_set(&a->blacklist, host, 0, true);
    if (r < 0)
        return r;
    a->blacklist_revision += (uint64_t)r;
    return 0;
}

int nm_yarn_allocator_ask(struct nm_yarn_allocator *a, const struct nm_yarn_alloc_request *request, uint64_t now_usec)
{
    int r = 0;

    for (size_t i = 0; i < request->n_unblacklist; i++)
        if (nm_yarn_ask_names_remove(&a->blacklist, request->unblacklist[i]))
            a->blacklist_revision++;
    for (size_t i = 0; r == 0 && i < request->n_blacklist; i++)
        r = blacklist(a, request->blacklist[i]);
    for (size_t i = 0; r == 0 && i < request->n_asks; i++)
        r = nm_yarn_ask_table_put(&a->asks, &request->asks[i], now_usec);
    return r;
}

/* ---- a heartbeat --------------------------------------------------------------------------------- */

/* Returns true if the i-th ask got a container. *gone: it was the last container of the ask, so the ask was removed. */
static bool place_container(struct nm_yarn_allocator *a, size_t i, uint64_t now_usec, struct nm_yarn_placement *ret,
                            bool *gone)
{
    const struct nm_yarn_ask_entry *ask = a->asks.list[i];
    struct nm_yarn_alloc_why why;
    struct nm_yarn_candidate *node = nm_yarn_choose_candidate(&a->nodes, ask, &a->limits, &why);

    if (!node)
        return false;
    why.waited_usec = nm_sub_u64(now_usec, ask->since_usec);
    *ret = (struct nm_yarn_placement){
        .node = &node->is,
        .size = nm_yarn_normal_size(&a->limits, ask->size),
        .priority = ask->priority,
        .request_id = ask->request_id,
        .why = why,
    };
    nm_yarn_candidate_charge(node, ret->size.memory_mib, nm_yarn_ask_is_lent(&a->limits, ask));
    a->placed_by_rule[why.rule]++;
    *gone = nm_yarn_ask_table_charge(&a->asks, i, why.rule == NM_YARN_ALLOC_NODE_LOCAL ? node->is.host : NULL,
                                     why.rule == NM_YARN_ALLOC_RACK_LOCAL ? node->is.rack : NULL);
    return true;
}

/* Gives every ask one turn. Returns the number of containers placed in this heartbeat. */
static size_t allocation_pass(struct nm_yarn_allocator *a, uint64_t now_usec, size_t n, size_t most)
{
    for (size_t i = 0; i < a->asks.n && n < most;) {
        struct nm_yarn_ask_entry *ask = a->asks.list[i];
        bool gone = false;

        if (ask->count > 0 && !ask->stuck) {
            if (place_container(a, i, now_usec, &a->placed[n], &gone))
                n++;
            else
                ask->stuck = true;
        }
        i += !gone;
    }
    return n;
}

/* Returns the maximum number of containers of a heartbeat. */
static int64_t most_of_heartbeat(const struct nm_yarn_allocator *a)
{
    const int64_t limit = a->limits.per_heartbeat > 0 ? a->limits.per_heartbeat : INT64_MAX;

    return a->has_limits && a->nodes.n > 0 ? NM_MIN(limit, (int64_t)NM_YARN_ALLOC_HEARTBEAT_MAX) : 0;
}

/* Determines the maximum number of containers for this heartbeat, and allocates memory for them. */
static int make_room(struct nm_yarn_allocator *a, size_t *ret_most)
{
    const uint64_t most = NM_MIN(nm_yarn_ask_table_outstanding(&a->asks), (uint64_t)most_of_heartbeat(a));
    struct nm_yarn_placement *placed;

    if (most > a->placed_allocated) {
        placed = realloc(a->placed, most * sizeof *placed);
        if (!placed)
            return -ENOMEM;
        a->placed = placed;
        a->placed_allocated = most;
    }
    *ret_most = most;
    return 0;
}

int nm_yarn_allocator_allocate(struct nm_yarn_allocator *a, uint64_t now_usec, const struct nm_yarn_placement **ret,
                               size_t *ret_n)
{
    size_t n = 0, before, most;
    int r = make_room(a, &most);

    if (r < 0)
        return r;
    nm_yarn_candidates_begin(&a->nodes, &a->blacklist, &a->limits, now_usec);
    for (size_t i = 0; i < a->asks.n; i++)
        a->asks.list[i]->stuck = false;
    do {
        before = n;
        n = allocation_pass(a, now_usec, n, most);
    } while (n > before);
    *ret = a->placed;
    *ret_n = n;
    return 0;
}

/* ---- lending ------------------------------------------------------------------------------------- */

/* Returns the size of the largest container that fits. */
static int64_t largest_mib(const struct nm_yarn_alloc_limits *l, int64_t memory_mib)
{
    if (memory_mib < nm_yarn_normal_size(l, (struct nm_yarn_alloc_size){}).memory_mib)
        return 0;
    return l->increment.memory_mib > 0 ? memory_mib - memory_mib % l->increment.memory_mib : memory_mib;
}

static bool is_for_lent(const struct nm_yarn_allocator *a, const struct nm_yarn_candidate *node)
{
    return node->measure.kind != NM_YARN_ALLOC_OTHER && !node->is.partition[0] &&
           !nm_yarn_ask_names_find(&a->blacklist, node->is.host);
}

int64_t nm_yarn_allocator_lendable_mib(const struct nm_yarn_allocator *a)
{
    int64_t most = 0;

    if (!a->limits.lendable || a->nodes.n == 0)
        return INT64_MAX;
    for (size_t i = 0; i < a->nodes.n; i++) {
        const struct nm_yarn_candidate *node = &a->nodes.list[i];

        if (is_for_lent(a, node))
            most = NM_MAX(most, a->limits.lendable(a->limits.userdata, node->is.host, node->is.port));
    }
    return largest_mib(&a->limits, most);
}

/* Returns the unused memory that is left on the node for lent containers. */
static int64_t left_mib(const struct nm_yarn_alloc_limits *l, const struct nm_yarn_candidate *node, uint64_t now_usec)
{
    if (!nm_yarn_candidate_is_fresh(node, now_usec))
        return l->lends_to_unknown && !node->measure.awaited ? INT64_MAX : 0;
    if (!node->measure.admits)
        return 0;
    return node->measure.unused_memory_mib - nm_yarn_candidate_claimed_mib(node) - node->measure.observed_mib;
}

/* Returns the memory that lent containers can use on the node now. */
static int64_t startable_mib(const struct nm_yarn_alloc_limits *l, const struct nm_yarn_candidate *node,
                             uint64_t now_usec)
{
    int64_t unused_mib = left_mib(l, node, now_usec);

    if (l->lendable)
        unused_mib = NM_MIN(unused_mib, l->lendable(l->userdata, node->is.host, node->is.port));
    return NM_MAX(unused_mib, INT64_C(0));
}

/* Returns how many containers may be placed on the node in the next heartbeat, if no ask names it. */
static int64_t placeable(const struct nm_yarn_alloc_limits *l, const struct nm_yarn_candidate *node)
{
    const int64_t room = nm_yarn_candidate_room(node, l->fill ? l->queue_length : 0);

    if (room < 0)
        return 1; /* it isn't known */
    return l->fill ? room : NM_MIN(room, INT64_C(1));
}

static int64_t lent_size_mib(const struct nm_yarn_allocator *a, struct nm_yarn_alloc_size size)
{
    return NM_MAX(nm_yarn_normal_size(&a->limits, size).memory_mib, INT64_C(1));
}

static int64_t startable_on(const struct nm_yarn_allocator *a, const struct nm_yarn_candidate *node, int64_t size_mib,
                            uint64_t now_usec)
{
    if (!is_for_lent(a, node))
        return 0;
    return NM_MIN(startable_mib(&a->limits, node, now_usec) / size_mib, placeable(&a->limits, node));
}

uint32_t nm_yarn_allocator_startable(const struct nm_yarn_allocator *a, struct nm_yarn_alloc_size size,
                                     uint64_t now_usec)
{
    int64_t n = 0;

    for (size_t i = 0; a->has_limits && i < a->nodes.n; i++)
        n += startable_on(a, &a->nodes.list[i], lent_size_mib(a, size), now_usec);
    return (uint32_t)NM_MIN(n, most_of_heartbeat(a));
}

/* Returns the node for the next container: see nm_yarn_choose_candidate(). used: the containers that each node gets
 * before. -1: no node can start another one. */
static ssize_t next_node(const struct nm_yarn_allocator *a, int64_t size_mib, uint64_t now_usec, const int64_t *used)
{
    ssize_t best = -1;

    for (size_t i = 0; i < a->nodes.n; i++) {
        const struct nm_yarn_candidate *node = &a->nodes.list[i];

        if (used[i] < startable_on(a, node, size_mib, now_usec) &&
            (best < 0 || used[i] < used[best] ||
             (used[i] == used[best] && left_mib(&a->limits, node, now_usec) >
                                           left_mib(&a->limits, &a->nodes.list[best], now_usec))))
            best = (ssize_t)i;
    }
    return best;
}

size_t nm_yarn_allocator_try(const struct nm_yarn_allocator *a, struct nm_yarn_alloc_size *size, uint64_t now_usec,
                             const struct nm_yarn_alloc_node **ret, size_t n)
{
    const size_t most = NM_MIN(n, (size_t)nm_yarn_allocator_startable(a, *size, now_usec));
    const int64_t size_mib = lent_size_mib(a, *size);
    int64_t used[NM_YARN_ALLOC_NODES_MAX] = {};
    size_t done = 0;

    for (ssize_t at; done < most && (at = next_node(a, size_mib, now_usec, used)) >= 0; used[at]++)
        ret[done++] = &a->nodes.list[at].is;
    *size = nm_yarn_normal_size(&a->limits, *size);
    return done;
}

bool nm_yarn_allocator_is_awaiting(const struct nm_yarn_allocator *a, uint64_t now_usec)
{
    bool awaited = false;

    for (size_t i = 0; i < a->nodes.n; i++) {
        if (nm_yarn_candidate_is_fresh(&a->nodes.list[i], now_usec))
            return false;
        awaited |= a->nodes.list[i].measure.awaited;
    }
    return awaited;
}

/* ---- figures ------------------------------------------------------------------------------------ */

uint64_t nm_yarn_allocator_revision(const struct nm_yarn_allocator *a)
{
    return a->asks.revision + a->blacklist_revision;
}

struct nm_yarn_alloc_figures nm_yarn_allocator_figures(const struct nm_yarn_allocator *a)
{
    struct nm_yarn_alloc_figures f = {
        .asks = a->asks.n,
        .blacklisted = a->blacklist.n,
        .nodes = a->nodes.n,
        .outstanding = nm_yarn_ask_table_outstanding(&a->asks),
    };

    memcpy(f.placed, a->placed_by_rule, sizeof f.placed);
    return f;
}
