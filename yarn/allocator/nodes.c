/* SPDX-License-Identifier: Apache-2.0 */

/* See allocator-state.h. */

#include "yarn/allocator/allocator-state.h"

#include <errno.h>

/* Limit of the memory with which a container is counted, so that sums don't overflow. */
#define MEMORY_MIB_MAX (INT64_C(1) << 40)

static void node_done(struct nm_yarn_candidate *node)
{
    free((char *)node->is.host);
    free((char *)node->is.web_address);
    free((char *)node->is.rack);
    free((char *)node->is.partition);
}

void nm_yarn_candidates_done(struct nm_yarn_candidates *nodes)
{
    for (size_t i = 0; i < nodes->n; i++)
        node_done(&nodes->list[i]);
    free(nodes->list);
    free(nodes->by_host);
    free(nodes->by_rack);
    *nodes = (struct nm_yarn_candidates){};
}

static const struct nm_yarn_candidate *find(const struct nm_yarn_candidates *nodes, const char *host)
{
    for (size_t i = 0; i < nodes->n; i++)
        if (nm_streq(nodes->list[i].is.host, host))
            return &nodes->list[i];
    return NULL;
}

static bool fits(const char *text)
{
    return !text || !text[0] || nm_yarn_ask_name_is_valid(text);
}

static bool is_good(const struct nm_yarn_alloc_node *node)
{
    return nm_yarn_ask_name_is_valid(node->host) && node->port > 0 && node->port <= UINT16_MAX &&
           fits(node->web_address) && fits(node->rack) && fits(node->partition);
}

static int copy(const struct nm_yarn_alloc_node *from, struct nm_yarn_candidate *ret)
{
    struct nm_yarn_candidate to = {.is = {
                                   .host = strdup(from->host),
                                   .port = from->port,
                                   .web_address = strdup(from->web_address ?: ""),
                                   .rack = strdup(from->rack ?: ""),
                                   .partition = strdup(from->partition ?: ""),
                                   .room = from->room,
                               }};

    if (!to.is.host || !to.is.web_address || !to.is.rack || !to.is.partition) {
        node_done(&to);
        return -ENOMEM;
    }
    *ret = to;
    return 0;
}

static int add(struct nm_yarn_candidates *nodes, const struct nm_yarn_candidates *former,
               const struct nm_yarn_alloc_node *from)
{
    struct nm_yarn_candidate *node = &nodes->list[nodes->n];
    const struct nm_yarn_candidate *before;
    int r;

    if (!is_good(from) || find(nodes, from->host))
        return 0;
    r = copy(from, node);
    if (r < 0)
        return r;
    before = find(former, from->host);
    if (before) {
        node->recent = before->recent;
        node->measure = before->measure;
        node->claimed_mib = before->claimed_mib;
    }
    nodes->n++;
    return 0;
}

/* ---- sorted indices ----------------------------------------------------------------------------- */

static const char *host_of(const struct nm_yarn_candidate *node)
{
    return node->is.host;
}

static const char *rack_of(const struct nm_yarn_candidate *node)
{
    return node->is.rack;
}

/* Returns the first index, in sorted order, whose name isn't less than `name`. */
static size_t first_of(const struct nm_yarn_candidates *nodes, const uint16_t *order, size_t n,
                       const char *(*name_of)(const struct nm_yarn_candidate *node), const char *name)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(name_of(&nodes->list[order[middle]]), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the indices of the nodes in sorted order. NULL: no memory. */
static uint16_t *make_order(const struct nm_yarn_candidates *nodes,
                            const char *(*name_of)(const struct nm_yarn_candidate *node))
{
    uint16_t *order = calloc(nodes->n ?: 1, sizeof *order);

    for (size_t i = 0; order && i < nodes->n; i++) {
        size_t at = first_of(nodes, order, i, name_of, name_of(&nodes->list[i]));

        memmove(&order[at + 1], &order[at], (i - at) * sizeof *order);
        order[at] = (uint16_t)i;
    }
    return order;
}

static void mark(const struct nm_yarn_candidates *nodes, const uint16_t *order,
                 const char *(*name_of)(const struct nm_yarn_candidate *node), const char *name, bool *named)
{
    for (size_t i = first_of(nodes, order, nodes->n, name_of, name);
         i < nodes->n && nm_streq(name_of(&nodes->list[order[i]]), name); i++)
        named[order[i]] = true;
}

void nm_yarn_candidates_mark_hosts(const struct nm_yarn_candidates *nodes, const struct nm_yarn_ask_names *hosts,
                                   bool *named)
{
    for (size_t i = 0; i < hosts->n; i++)
        mark(nodes, nodes->by_host, host_of, hosts->list[i].name, named);
}

void nm_yarn_candidates_mark_racks(const struct nm_yarn_candidates *nodes, const struct nm_yarn_ask_names *racks,
                                   bool *named)
{
    for (size_t i = 0; i < racks->n; i++)
        if (racks->list[i].relax)
            mark(nodes, nodes->by_rack, rack_of, racks->list[i].name, named);
}

/* ---- lists -------------------------------------------------------------------------------------- */

int nm_yarn_candidates_set(struct nm_yarn_candidates *nodes, const struct nm_yarn_alloc_node *from, size_t n)
{
    size_t room = NM_MIN(n, (size_t)NM_YARN_ALLOC_NODES_MAX);
    struct nm_yarn_candidates now = {.list = calloc(room ?: 1, sizeof(struct nm_yarn_candidate))};
    int r = now.list ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < n && now.n < room; i++)
        r = add(&now, nodes, &from[i]);
    if (r == 0) {
        now.by_host = make_order(&now, host_of);
        now.by_rack = make_order(&now, rack_of);
        r = now.by_host && now.by_rack ? 0 : -ENOMEM;
    }
    if (r < 0) {
        nm_yarn_candidates_done(&now);
        return r;
    }
    nm_yarn_candidates_done(nodes);
    *nodes = now;
    return 0;
}

/* Drops the quarters that have passed. If the clock was set back, drops all quarters. Otherwise a host would count as
 * full until the clock reaches its former time. */
static void advance_quarter(struct nm_yarn_recent_placements *r, uint64_t quarter)
{
    if (quarter < r->quarter || quarter - r->quarter >= NM_YARN_RECENT_QUARTERS)
        *r = (struct nm_yarn_recent_placements){.quarter = quarter};
    while (r->quarter < quarter) {
        const size_t i = ++r->quarter % NM_YARN_RECENT_QUARTERS;

        r->count[i] = 0;
        r->memory_mib[i] = 0;
    }
}

static uint64_t quarter_of(uint64_t now_usec, uint64_t window_usec)
{
    return now_usec / NM_MAX(window_usec / (NM_YARN_RECENT_QUARTERS - 1), UINT64_C(1));
}

static int64_t lendable_mib(const struct nm_yarn_alloc_limits *limits, const struct nm_yarn_candidate *node)
{
    return limits->lends && limits->lendable ? limits->lendable(limits->userdata, node->is.host, node->is.port)
                                             : INT64_MAX;
}

bool nm_yarn_candidate_is_fresh(const struct nm_yarn_candidate *node, uint64_t now_usec)
{
    return node->measure.measured && now_usec >= node->measure.at_usec &&
           now_usec - node->measure.at_usec < NM_YARN_ALLOC_FRESH_USEC;
}

void nm_yarn_candidates_begin(struct nm_yarn_candidates *nodes, const struct nm_yarn_ask_names *blacklist,
                              const struct nm_yarn_alloc_limits *limits, uint64_t now_usec)
{
    uint64_t quarter = quarter_of(now_usec, limits->window_usec);

    for (size_t i = 0; i < nodes->n; i++) {
        struct nm_yarn_candidate *node = &nodes->list[i];

        node->used = 0;
        node->blacklisted = nm_yarn_ask_names_find(blacklist, node->is.host) != NULL;
        node->lendable_mib = lendable_mib(limits, node);
        advance_quarter(&node->recent, quarter);
        node->is_fresh = nm_yarn_candidate_is_fresh(node, now_usec);
    }
}

/* A new measurement doesn't include the newest placements, because their containers arrive at the node later. */
void nm_yarn_candidate_measure(struct nm_yarn_candidate *node, const struct nm_yarn_alloc_measure *measure,
                               uint64_t window_usec, uint64_t now_usec)
{
    advance_quarter(&node->recent, quarter_of(now_usec, window_usec));
    if (measure->at_usec != node->measure.at_usec) {
        node->claimed_mib = 0;
        for (size_t i = 0; i < NM_YARN_RECENT_QUARTERS; i++)
            node->claimed_mib += node->recent.memory_mib[i];
    }
    node->measure = *measure;
}

int64_t nm_yarn_candidate_claimed_mib(const struct nm_yarn_candidate *node)
{
    return NM_MAX(node->claimed_mib, node->measure.claimed_mib);
}

int64_t nm_yarn_candidate_unused_mib(const struct nm_yarn_candidate *node)
{
    if (!node->is_fresh)
        return -1;
    return NM_MAX(node->measure.unused_memory_mib - nm_yarn_candidate_claimed_mib(node), INT64_C(0));
}

int64_t nm_yarn_candidate_room(const struct nm_yarn_candidate *node, int32_t queue_length)
{
    int64_t room = node->is.room >= 0 ? node->is.room : queue_length;

    if (node->is.room < 0 && queue_length <= 0)
        return -1;
    for (size_t i = 0; i < NM_YARN_RECENT_QUARTERS; i++)
        room -= node->recent.count[i];
    return NM_MAX(room, (int64_t)0);
}

void nm_yarn_candidate_charge(struct nm_yarn_candidate *node, int64_t memory_mib, bool is_lent)
{
    const size_t i = node->recent.quarter % NM_YARN_RECENT_QUARTERS;

    node->used++;
    node->recent.count[i]++;
    node->recent.memory_mib[i] += NM_MIN(memory_mib, MEMORY_MIB_MAX);
    node->claimed_mib += NM_MIN(memory_mib, MEMORY_MIB_MAX);
    node->measure.claimed_mib += NM_MIN(memory_mib, MEMORY_MIB_MAX);
    if (is_lent)
        node->lendable_mib -= memory_mib;
}
