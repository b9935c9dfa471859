/* SPDX-License-Identifier: Apache-2.0 */

/* The containers that are lent, and those that were. */

#include <errno.h>

#include "util/array.h"
#include "yarn/lend/lend-state.h"

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

int nm_lend_compare(const struct nm_yarn_container_id *a, const struct nm_yarn_container_id *b)
{
    return ORDER(a->number, b->number)
               ?: ORDER(a->attempt.number, b->attempt.number)
               ?: ORDER(a->attempt.application.number, b->attempt.application.number)
               ?: ORDER(a->attempt.application.cluster, b->attempt.application.cluster);
}

bool nm_lend_containers_equal(const struct nm_yarn_container_id *a, const struct nm_yarn_container_id *b)
{
    return nm_lend_compare(a, b) == 0;
}

static size_t position_of(const struct nm_lend *l, const struct nm_yarn_container_id *id, bool *ret_found)
{
    size_t low = 0, high = l->n_lent;

    *ret_found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = nm_lend_compare(&l->by_id[middle]->is.id, id);

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

struct nm_lend_container *nm_lend_containers_find(const struct nm_lend *l, const struct nm_yarn_container_id *id)
{
    bool found;
    size_t i = position_of(l, id, &found);

    return found ? l->by_id[i] : NULL;
}

/* Reserves memory for n further promoted containers. */
static int reserve_unapplied(struct nm_lend *l, size_t n)
{
    const size_t wanted = NM_MIN(l->n_unapplied + n, (size_t)NM_LEND_UNAPPLIED_MAX);
    const size_t size = NM_MIN(NM_MAX(wanted, 2 * l->unapplied_size), (size_t)NM_LEND_UNAPPLIED_MAX);

    if (wanted <= l->unapplied_size)
        return 0;
    if (NM_ARRAY_RESIZE(l->unapplied, size) < 0)
        return -ENOMEM;
    l->unapplied_size = size;
    return 0;
}

static int make_room(struct nm_lend *l)
{
    size_t size = l->lent_size, same = l->lent_size;

    if (NM_ARRAY_ROOM(l->by_age, l->n_lent, size) < 0 || NM_ARRAY_ROOM(l->by_id, l->n_lent, same) < 0 ||
        nm_lend_containers_reserve_ended(l, l->n_lent + 1) < 0 || reserve_unapplied(l, l->n_lent + 1) < 0)
        return -ENOMEM;
    l->lent_size = size;
    return 0;
}

int nm_lend_containers_add(struct nm_lend *l, struct nm_lend_container **from)
{
    struct nm_lend_container *c = *from;
    bool found;
    size_t i = position_of(l, &c->is.id, &found);

    if (make_room(l) < 0)
        return -ENOMEM;
    memmove(&l->by_id[i + 1], &l->by_id[i], (l->n_lent - i) * sizeof l->by_id[0]);
    l->by_id[i] = l->by_age[l->n_lent++] = STEAL_PTR(*from);
    l->lent_memory_mib += c->is.size.memory_mib;
    l->n_queued += c->state == NM_LEND_STATE_QUEUED;
    if (c->node) {
        c->node->lent++;
        c->node->lent_memory_mib += c->is.size.memory_mib;
        c->node->not_running += c->state != NM_LEND_STATE_RUNNING;
        c->node->lent_usec = NM_MAX(c->node->lent_usec, c->is.lent_usec);
    }
    if (c->promoting) {
        c->promoting = false;
        nm_lend_containers_set_promoting(l, c, true);
    }
    l->revision++;
    return 0;
}

static void remove_at(struct nm_lend_container **list, size_t n, size_t i)
{
    memmove(&list[i], &list[i + 1], (n - i - 1) * sizeof *list);
}

void nm_lend_containers_set_lent(struct nm_lend *l, struct nm_lend_container *c, uint64_t lent_usec)
{
    size_t from = 0, to = 0;

    while (l->by_age[from] != c)
        from++;
    remove_at(l->by_age, l->n_lent, from);
    while (to + 1 < l->n_lent && l->by_age[to]->is.lent_usec <= lent_usec)
        to++;
    memmove(&l->by_age[to + 1], &l->by_age[to], (l->n_lent - 1 - to) * sizeof l->by_age[0]);
    l->by_age[to] = c;
    c->is.lent_usec = lent_usec;
}

/* Removes a container from the lent ones, and keeps its history. */
static void detach(struct nm_lend *l, struct nm_lend_container *c)
{
    bool found;
    size_t age = 0;

    while (l->by_age[age] != c)
        age++;
    nm_lend_containers_set_promoting(l, c, false);
    nm_lend_containers_append_ended(l, &c->is);
    remove_at(l->by_id, l->n_lent, position_of(l, &c->is.id, &found));
    remove_at(l->by_age, l->n_lent, age);
    l->n_lent--;
    l->lent_memory_mib -= c->is.size.memory_mib;
    l->n_queued -= c->state == NM_LEND_STATE_QUEUED;
    if (c->node) {
        c->node->lent--;
        c->node->lent_memory_mib -= c->is.size.memory_mib;
        c->node->not_running -= c->state != NM_LEND_STATE_RUNNING;
    }
    l->revision++;
}

static void free_container(struct nm_lend *l, struct nm_lend_container *c)
{
    if (c->node)
        nm_lend_nodes_drop_unused(l, c->node);
    free(c);
}

void nm_lend_containers_end(struct nm_lend *l, struct nm_lend_container *c)
{
    detach(l, c);
    free_container(l, c);
}

/* ---- promoted containers ------------------------------------------------------------------------ */

/* Takes a container from the list. */
static struct nm_lend_container *take_unapplied(struct nm_lend *l, size_t i)
{
    struct nm_lend_container *c = l->unapplied[i];

    remove_at(l->unapplied, l->n_unapplied--, i);
    if (c->node)
        c->node->unapplied--;
    l->revision++;
    return c;
}

/* There is memory: it was reserved when the container was lent. */
static void append_unapplied(struct nm_lend *l, struct nm_lend_container *c)
{
    if (l->n_unapplied == NM_LEND_UNAPPLIED_MAX)
        free_container(l, take_unapplied(l, 0));
    l->unapplied[l->n_unapplied++] = c;
    if (c->node)
        c->node->unapplied++;
}

int nm_lend_containers_add_unapplied(struct nm_lend *l, struct nm_lend_container **from)
{
    if (reserve_unapplied(l, l->n_lent + 1) < 0)
        return -ENOMEM;
    append_unapplied(l, STEAL_PTR(*from));
    return 0;
}

void nm_lend_containers_promote(struct nm_lend *l, struct nm_lend_container *c)
{
    detach(l, c);
    append_unapplied(l, c);
}

void nm_lend_containers_drop_unapplied(struct nm_lend *l, const struct nm_yarn_container_id *id)
{
    for (size_t i = 0; i < l->n_unapplied; i++)
        if (nm_lend_containers_equal(&l->unapplied[i]->is.id, id)) {
            free_container(l, take_unapplied(l, i));
            return;
        }
}

static void remove_ended(struct nm_lend *l, const struct nm_yarn_container_id *id)
{
    const struct nm_lend_history *h = nm_lend_containers_find_ended(l, id);
    bool found = false;

    for (size_t i = 0; h && i < l->n_ended; i++) {
        if (found)
            *nm_lend_containers_ended(l, i - 1) = *nm_lend_containers_ended(l, i);
        found |= nm_lend_containers_ended(l, i) == h;
    }
    l->n_ended -= found;
}

/* The node reports the container as it was before the promotion. Each update raises the version by one. */
static void return_container(struct nm_lend *l, struct nm_lend_container *c)
{
    const struct nm_lend_history *h = nm_lend_containers_find_ended(l, &c->is.id);

    if (h)
        c->is = *h; /* its master may have changed its size since then */
    remove_ended(l, &c->is.id);
    c->is.promoted_usec = 0;
    c->is.version = NM_MAX(c->is.version - 1, 0);
    c->is.running = c->is.queued = false;
    c->state = NM_LEND_STATE_UNKNOWN;
    l->counts.lent_again++;
}

/* Without memory, a container stays promoted until the next registration. */
void nm_lend_containers_return_unapplied(struct nm_lend *l)
{
    while (l->n_unapplied > 0 && l->n_lent < NM_LEND_CONTAINERS_MAX && make_room(l) == 0) {
        struct nm_lend_container *c = take_unapplied(l, 0);

        return_container(l, c);
        (void)nm_lend_containers_add(l, &(struct nm_lend_container *){c});
        nm_lend_containers_set_lent(l, c, c->is.lent_usec);
    }
}

void nm_lend_containers_set_state(struct nm_lend *l, struct nm_lend_container *c, enum nm_lend_state state)
{
    if (c->state == state)
        return;
    l->n_queued -= c->state == NM_LEND_STATE_QUEUED;
    l->n_queued += state == NM_LEND_STATE_QUEUED;
    if (c->node) {
        c->node->not_running -= c->state != NM_LEND_STATE_RUNNING;
        c->node->not_running += state != NM_LEND_STATE_RUNNING;
    }
    c->state = state;
    c->is.running = state == NM_LEND_STATE_RUNNING;
    c->is.queued = state == NM_LEND_STATE_QUEUED;
    l->revision++;
}

void nm_lend_containers_confirm(struct nm_lend *l, struct nm_lend_container *c)
{
    l->revision += c->unconfirmed;
    c->unconfirmed = false;
    c->unknown_since_usec = c->unknown_at_usec = 0;
}

void nm_lend_containers_set_promoting(struct nm_lend *l, struct nm_lend_container *c, bool promoting)
{
    const int sign = promoting ? 1 : -1;

    if (c->promoting == promoting)
        return;
    c->promoting = promoting;
    l->promoting_memory_mib += sign * c->is.size.memory_mib;
    l->promoting_vcores += sign * (int64_t)c->is.size.vcores;
    if (c->node)
        c->node->promoting += (uint32_t)sign;
    l->revision++;
}

void nm_lend_containers_resize(struct nm_lend *l, struct nm_lend_container *c, const struct nm_lend_size *size)
{
    const int64_t more_mib = size->memory_mib - c->is.size.memory_mib;
    const bool promoting = c->promoting;

    if (nm_lend_keys_same_size(size, &c->is.size))
        return;
    nm_lend_containers_set_promoting(l, c, false);
    c->is.size = *size;
    l->lent_memory_mib += more_mib;
    if (c->node)
        c->node->lent_memory_mib += more_mib;
    nm_lend_containers_set_promoting(l, c, promoting);
    l->revision++;
}

void nm_lend_containers_done(struct nm_lend *l)
{
    for (size_t i = 0; i < l->n_lent; i++)
        free(l->by_age[i]);
    free(l->by_age);
    for (size_t i = 0; i < l->n_unapplied; i++)
        free(l->unapplied[i]);
    free(l->by_id);
    free(l->unapplied);
    free(l->ended);
}

/* ---- the history -------------------------------------------------------------------------------- */

int nm_lend_containers_reserve_ended(struct nm_lend *l, size_t n)
{
    const size_t wanted = NM_MIN(l->n_ended + n, (size_t)NM_LEND_ENDED_MAX);
    const size_t size = NM_MIN(NM_MAX(wanted, 2 * l->ended_size), (size_t)NM_LEND_ENDED_MAX);

    /* The ring begins at 0 until it has its full size. */
    if (wanted <= l->ended_size)
        return 0;
    if (NM_ARRAY_RESIZE(l->ended, size) < 0)
        return -ENOMEM;
    l->ended_size = size;
    return 0;
}

struct nm_lend_history *nm_lend_containers_ended(const struct nm_lend *l, size_t i)
{
    return &l->ended[(l->ended_at + i) % NM_LEND_ENDED_MAX];
}

struct nm_lend_history *nm_lend_containers_find_ended(const struct nm_lend *l, const struct nm_yarn_container_id *id)
{
    for (size_t i = 0; i < l->n_ended; i++)
        if (nm_lend_containers_equal(&nm_lend_containers_ended(l, i)->id, id))
            return nm_lend_containers_ended(l, i);
    return NULL;
}

bool nm_lend_knows(const struct nm_lend *l, const struct nm_yarn_container_id *id)
{
    return nm_lend_containers_find(l, id) || nm_lend_containers_find_ended(l, id);
}

void nm_lend_containers_append_ended(struct nm_lend *l, const struct nm_lend_history *h)
{
    if (l->n_ended < NM_LEND_ENDED_MAX) {
        *nm_lend_containers_ended(l, l->n_ended++) = *h;
        return;
    }
    l->ended[l->ended_at] = *h;
    l->ended_at = (l->ended_at + 1) % NM_LEND_ENDED_MAX;
}

/* ---- from one attempt to the next --------------------------------------------------------------- */

static bool is_known(const struct nm_lend *l, const struct nm_lend *newer, const struct nm_yarn_container_id *id)
{
    return nm_lend_knows(l, id) || (newer && nm_lend_knows(newer, id));
}

static int copy_ended(struct nm_lend *l, const struct nm_lend_history *h)
{
    if (nm_lend_containers_reserve_ended(l, l->n_lent + 1) < 0)
        return -ENOMEM;
    nm_lend_containers_append_ended(l, h);
    l->revision++;
    return 0;
}

static int copy_lent(struct nm_lend *l, const struct nm_lend_container *from)
{
    _cleanup_free_ struct nm_lend_container *c = NULL;

    if (l->n_lent >= NM_LEND_CONTAINERS_MAX)
        return copy_ended(l, &from->is);
    c = malloc(sizeof *c);
    if (!c)
        return -ENOMEM;
    *c = *from;
    c->node = NULL;
    return nm_lend_containers_add(l, &c);
}

int nm_lend_copy_containers(struct nm_lend *l, const struct nm_lend *from, const struct nm_lend *newer)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < from->n_ended; i++) {
        const struct nm_lend_history *h = nm_lend_containers_ended(from, i);

        if (!is_known(l, newer, &h->id))
            r = copy_ended(l, h);
    }
    for (size_t i = 0; r == 0 && i < from->n_lent; i++)
        if (!is_known(l, newer, &from->by_age[i]->is.id))
            r = copy_lent(l, from->by_age[i]);
    return r;
}
