/* SPDX-License-Identifier: Apache-2.0 */

/* What is known of nodes: those with lent containers, and the newest NM_LEND_ROOMS_MAX others whose room is known. */

#include <errno.h>

#include "util/array.h"
#include "yarn/lend/lend-state.h"

static size_t position_of(const struct nm_lend *l, const char *host, int32_t port, bool *ret_found)
{
    size_t low = 0, high = l->n_nodes;

    *ret_found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct nm_lend_place *there = l->nodes[middle];
        int order = strcmp(there->host, host) ?: (there->port > port) - (there->port < port);

        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct nm_lend_place *nm_lend_nodes_find(const struct nm_lend *l, const char *host, int32_t port)
{
    bool found;
    size_t i = position_of(l, host, port, &found);

    return found ? l->nodes[i] : NULL;
}

int nm_lend_nodes_get(struct nm_lend *l, const char *host, int32_t port, struct nm_lend_place **ret)
{
    _cleanup_free_ struct nm_lend_place *node = NULL;
    bool found;
    size_t i;

    *ret = NULL;
    if (!host || !host[0] || strnlen(host, NM_LEND_NAME_MAX + 1) > NM_LEND_NAME_MAX)
        return 0;
    i = position_of(l, host, port, &found);
    if (found) {
        *ret = l->nodes[i];
        return 0;
    }
    node = calloc(1, sizeof *node);
    if (!node || NM_ARRAY_ROOM(l->nodes, l->n_nodes, l->nodes_size) < 0)
        return -ENOMEM;
    node->host = strdup(host);
    if (!node->host)
        return -ENOMEM;
    node->port = port;
    memmove(&l->nodes[i + 1], &l->nodes[i], (l->n_nodes - i) * sizeof l->nodes[0]);
    l->n_nodes++;
    *ret = l->nodes[i] = STEAL_PTR(node);
    return 0;
}

void nm_lend_nodes_drop_unused(struct nm_lend *l, struct nm_lend_place *node)
{
    bool found;
    size_t i;

    if (node->lent > 0 || node->unapplied > 0 || node->has_room)
        return;
    i = position_of(l, node->host, node->port, &found);
    l->n_nodes--;
    memmove(&l->nodes[i], &l->nodes[i + 1], (l->n_nodes - i) * sizeof l->nodes[0]);
    free(node->host);
    free(node);
}

void nm_lend_nodes_done(struct nm_lend *l)
{
    for (size_t i = 0; i < l->n_nodes; i++) {
        free(l->nodes[i]->host);
        free(l->nodes[i]);
    }
    free(l->nodes);
}

/* ---- room --------------------------------------------------------------------------------------- */

static void drop_oldest_room(struct nm_lend *l, const struct nm_lend_place *except)
{
    struct nm_lend_place *oldest = NULL;

    for (size_t i = 0; i < l->n_nodes; i++) {
        struct nm_lend_place *node = l->nodes[i];

        if (node->has_room && node != except && (!oldest || node->room_usec < oldest->room_usec))
            oldest = node;
    }
    oldest->has_room = false;
    l->n_rooms--;
    nm_lend_nodes_drop_unused(l, oldest);
}

static struct nm_lend_size smaller_of(const struct nm_lend_size *a, const struct nm_lend_size *b)
{
    return (struct nm_lend_size){NM_MIN(a->memory_mib, b->memory_mib), NM_MIN(a->vcores, b->vcores)};
}

/* Notes an answer. One that follows the last one too early can only lower the room: it doesn't confirm it. After the
 * clock was set back, the room must be confirmed anew. */
static void note_room(struct nm_lend_place *node, const struct nm_lend_size *room, uint64_t at_usec)
{
    const bool is_later = node->has_room && at_usec >= node->room_usec;
    const uint64_t gap_usec = is_later ? at_usec - node->room_usec : 0;

    if (is_later && gap_usec < NM_LEND_CONFIRM_USEC) {
        node->room = smaller_of(&node->room, room);
        node->confirmed = smaller_of(&node->confirmed, room);
        return;
    }
    node->confirmed = (struct nm_lend_size){};
    if (is_later && gap_usec <= NM_LEND_CONFIRM_MAX_USEC)
        node->confirmed = smaller_of(&node->room, room);
    node->room = *room;
    node->room_usec = at_usec;
}

int nm_lend_set_room(struct nm_lend *l, const struct nm_lend_node_room *room)
{
    struct nm_lend_place *node;
    int r = nm_lend_nodes_get(l, room->host, room->port, &node);

    if (r < 0 || !node)
        return r;
    note_room(node, &room->guaranteed_free, room->at_usec);
    node->unanswered_usec = 0;
    l->n_rooms += !node->has_room;
    node->has_room = true;
    l->newest_room_usec = NM_MAX(l->newest_room_usec, room->at_usec);
    if (l->n_rooms > NM_LEND_ROOMS_MAX)
        drop_oldest_room(l, node);
    return 0;
}

/* ---- questions ---------------------------------------------------------------------------------- */

static bool is_unconfirmed(const struct nm_lend_place *node)
{
    return node->has_room && node->room.memory_mib > node->confirmed.memory_mib;
}

/* A time in the future was noted before the clock was set back. */
static bool is_due(const struct nm_lend_place *node, uint64_t now_usec)
{
    const bool is_open = node->not_running > 0 || is_unconfirmed(node);
    const uint64_t interval_usec = is_open ? NM_LEND_ASK_NODE_USEC : NM_LEND_ASK_ROOM_USEC;

    return node->lent > 0 && (node->asked_usec == 0 || node->asked_usec > now_usec ||
                              nm_sub_u64(now_usec, node->asked_usec) >= interval_usec);
}

static struct nm_lend_place *find_longest_unasked(const struct nm_lend *l, uint64_t now_usec)
{
    struct nm_lend_place *longest = NULL;

    for (size_t i = 0; i < l->n_nodes; i++)
        if (is_due(l->nodes[i], now_usec) && (!longest || l->nodes[i]->asked_usec < longest->asked_usec))
            longest = l->nodes[i];
    return longest;
}

size_t nm_lend_nodes_to_ask(struct nm_lend *l, uint64_t now_usec, struct nm_lend_node *ret, size_t n)
{
    struct nm_lend_place *node;
    size_t done = 0;

    while (done < n && (node = find_longest_unasked(l, now_usec))) {
        node->asked_usec = NM_MAX(now_usec, UINT64_C(1));
        if (node->unanswered_usec == 0 || node->unanswered_usec > now_usec)
            node->unanswered_usec = node->asked_usec;
        (void)memcpy(ret[done].host, node->host, strlen(node->host) + 1);
        ret[done++].port = node->port;
    }
    return done;
}

void nm_lend_set_answered(const struct nm_lend *l, const char *host, int32_t port)
{
    struct nm_lend_place *node = nm_lend_nodes_find(l, host, port);

    if (node)
        node->unanswered_usec = 0;
}

static bool is_known_to_run(const struct nm_lend_container *c)
{
    return c->state == NM_LEND_STATE_RUNNING && !c->unconfirmed;
}

/* If a question can't name all containers, those that run are left out first: the others are not promoted before their
 * node has said that they run. */
size_t nm_lend_containers_on(const struct nm_lend *l, const char *host, int32_t port, struct nm_yarn_container_id *ret,
                             size_t n)
{
    const struct nm_lend_place *node = nm_lend_nodes_find(l, host, port);
    size_t done = 0;

    for (unsigned running = 0; node && running < 2; running++)
        for (size_t i = 0; i < l->n_lent && done < n; i++)
            if (l->by_age[i]->node == node && is_known_to_run(l->by_age[i]) == running)
                ret[done++] = l->by_age[i]->is.id;
    return done;
}

int64_t nm_lend_memory_on(const struct nm_lend *l, const char *host, int32_t port)
{
    const struct nm_lend_place *node = nm_lend_nodes_find(l, host, port);

    return node ? node->lent_memory_mib : 0;
}
