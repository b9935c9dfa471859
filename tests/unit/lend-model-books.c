/* SPDX-License-Identifier: Apache-2.0 */

/* The books in a random history: what they say of keys and containers, restarts of nmd, and further attempts of the
 * application. See lend-model.h. */

#include "lend-model.h"

const char *const model_hosts[N_HOSTS] = {"one", "two", "three"};
struct totals totals;

/* ---- figures ------------------------------------------------------------------------------------ */

static void take_view(const struct nm_lend_key_view *v, void *userdata)
{
    struct fixture *w = userdata;
    const int k = model_key_index(&v->key);

    w->has_place[k] = nm_lend_knows_key(w->l, &v->key);
    if (w->has_place[k])
        w->views[k] = *v;
    else
        CHECK(w, v->reason == NM_LEND_TOO_MANY_KEYS);
}

/* A key that gets its place by an opportunistic ask of the master, or in a refused call, may have asks from before. */
static bool knows_ask(const struct fixture *w, int k)
{
    return w->has_place[k] && w->views[k].size.memory_mib > 0;
}

/* A key whose ask the books don't know is left alone, so its asks are those without lending. */
void books_read_views(struct fixture *w)
{
    bool had_place[N_KEYS_MAX];

    memcpy(had_place, w->has_place, sizeof had_place);
    for (int k = 0; k < w->n_keys; k++) {
        w->views[k] = (struct nm_lend_key_view){.key = model_key(k)};
        w->has_place[k] = false;
    }
    nm_lend_each_key(w->l, take_view, w);
    for (int k = 0; k < w->n_keys; k++) {
        w->touched[k] &= knows_ask(w, k);
        totals.evicted += had_place[k] && !w->has_place[k];
    }
}

void books_check_figures(struct fixture *w)
{
    const struct nm_lend_figures f = nm_lend_figures(w->l);
    uint64_t lent = 0, waiting = 0;
    int64_t memory_mib = 0;

    for (int c = 0; c < w->n_containers; c++) {
        const struct container *is = &w->containers[c];
        const struct nm_yarn_container_id id = model_id(w, c);

        CHECK(w, nm_lend_is_lent(w->l, &id) == is->lent);
        CHECK(w, is->demoted || !nm_lend_was_demoted(w->l, &id));
        CHECK(w, !is->demoted || !is->lent || nm_lend_was_demoted(w->l, &id));
        lent += is->lent;
        waiting += is->lent && is->queued;
        memory_mib += is->lent ? is->size.memory_mib : 0;
    }
    CHECK(w, f.lent == lent && f.waiting == waiting && f.lent_memory_mib == memory_mib);
    CHECK(w, f.granted + f.adopted + f.lent_again == f.lent + f.promoted + f.preempted + f.ended);
    CHECK(w, w->granted_before + f.granted == w->shown);
    CHECK(w, f.keys <= NM_LEND_KEYS_MAX);
    books_read_views(w);
    for (int k = 0; k < w->n_keys; k++)
        CHECK(w, !knows_ask(w, k) || w->views[k].wanted == (uint32_t)w->waits[k]);
}

/* ---- restarts of nmd ---------------------------------------------------------------------------- */

static struct nm_lend *restored(const struct fixture *w, struct nm_lend *from)
{
    uint8_t *one, *other;
    size_t size_one, size_other;
    struct nm_lend *ret;

    CHECK(w, nm_lend_pack(from, &one, &size_one) == 0);
    CHECK(w, nm_lend_restore((struct nm_bytes){one, size_one}, &ret) == 0);
    CHECK(w, nm_lend_pack(ret, &other, &size_other) == 0);
    CHECK(w, size_one == size_other && memcmp(one, other, size_one) == 0);
    free(one);
    free(other);
    nm_lend_free(from);
    return ret;
}

/* The restored books must be equal, except for what they don't pack. */
void books_restart(struct fixture *w)
{
    w->l = restored(w, w->l);
    if (w->former)
        w->former = restored(w, w->former);
    nm_lend_set_rule(w->l, &w->rule);
    memset(w->rooms, 0, sizeof w->rooms);
    w->restarted = w->has_lost_call = true;
    w->has_limits = false;
    totals.restarts++;
}

/* ---- attempts ----------------------------------------------------------------------------------- */

/* Keeps what the books of the former attempt know if the next one runs on the same node. */
static void keep_former(struct fixture *w, bool same_node)
{
    struct nm_lend *all = NULL;

    w->granted_before += nm_lend_figures(w->l).granted;
    if (same_node) {
        CHECK(w, nm_lend_new(&all) == 0);
        CHECK(w, !w->former || nm_lend_copy_containers(all, w->former, w->l) == 0);
        CHECK(w, nm_lend_copy_containers(all, w->l, NULL) == 0);
    }
    nm_lend_free(w->former);
    w->former = all;
    nm_lend_free(w->l);
    CHECK(w, nm_lend_new(&w->l) == 0);
    nm_lend_set_rule(w->l, &w->rule);
    nm_lend_registered(w->l);
}

/* Containers that were not launched end with the attempt. Others may end before the next one registers. */
static void keep_containers(struct fixture *w)
{
    for (int c = 0; c < w->n_containers; c++) {
        struct container *is = &w->containers[c];
        const struct nm_yarn_container_id id = model_id(w, c);

        CHECK(w, !w->former || !is->lent || nm_lend_is_lent(w->former, &id));
        CHECK(w, !w->former || !is->own || !nm_lend_knows(w->former, &id));
        CHECK(w, !w->former || !is->lent || nm_lend_was_demoted(w->former, &id) == is->demoted);
        is->taken_over = (is->lent || is->taken_over) && (is->running || is->queued) && !is->lost &&
                         !is->demoted && !one_in(w, 4);
        is->lent = is->running = is->queued = is->unapplied = is->on_node = false;
    }
}

static void adopt(struct fixture *w, int c)
{
    struct container *is = &w->containers[c];
    const struct nm_lend_grant g = {.id = model_id(w, c), .key = model_key(is->key), .size = is->size,
                                    .host = model_hosts[is->host], .port = 1, .opportunistic = true};

    for (int i = 0; i <= random_int(w, 2); i++) /* it may be reported twice */
        CHECK(w, nm_lend_adopt(w->l, &g, w->now_usec) == 0);
    is->taken_over = false;
    is->lent = true;
    is->lent_usec = w->now_usec;
    totals.adopted++;
}

void books_take_over(struct fixture *w)
{
    for (int c = 0; c < w->first[w->attempt]; c++)
        if (w->containers[c].taken_over && one_in(w, 2))
            adopt(w, c);
}

void books_begin_attempt(struct fixture *w)
{
    const struct master m = w->m;

    CHECK(w, w->attempt + 1 < ATTEMPTS_MAX);
    model_restart(w);
    keep_former(w, one_in(w, 2));
    keep_containers(w);
    w->first[++w->attempt] = w->n_containers;
    w->m = (struct master){.corrects = m.corrects};
    memcpy(w->m.size, m.size, sizeof m.size);
    books_forget_asks(w);
    memset(w->rooms, 0, sizeof w->rooms);
    w->restarted = w->has_limits = w->unsettled = w->has_lost_call = false;
    w->handled_id = -1;
    w->answered = w->m;
    memcpy(w->waits_answered, w->waits, sizeof w->waits);
    memcpy(w->unread_answered, w->unread, sizeof w->unread);
    books_take_over(w);
    books_check_figures(w);
    totals.attempts++;
}

void books_forget_asks(struct fixture *w)
{
    memset(w->has_place, 0, sizeof w->has_place);
    for (int k = 0; k < w->n_keys; k++) {
        w->waits[k] = w->surplus[k] = w->unseen[k] = 0;
        w->touched[k] = w->unread[k] = w->unclear[k] = false;
    }
}

/* ---- promotions and demotions ---------------------------------------------------------------- */

void books_ask_nodes(struct fixture *w)
{
    struct nm_lend_node nodes[N_HOSTS];
    const size_t n = nm_lend_nodes_to_ask(w->l, w->now_usec, nodes, N_HOSTS);

    for (size_t i = 0; i < n; i++)
        for (int h = 0; h < N_HOSTS; h++)
            if (strcmp(nodes[i].host, model_hosts[h]) == 0 && w->unanswered_usec[h] == 0)
                w->unanswered_usec[h] = w->now_usec;
}

bool books_tell_of_promotion(struct fixture *w, struct container *c, const struct nm_yarn_container_id *id)
{
    if (c->unapplied && one_in(w, 12)) {
        nm_lend_set_applied(w->l, id);
        c->unapplied = false;
    }
    if (!c->lent || !c->on_node)
        return !c->lent;
    if (!one_in(w, 3))
        return true;
    CHECK(w, nm_lend_set_guaranteed(w->l, id, w->now_usec) == !c->demoted);
    c->lent = c->demoted;
    c->on_node = false;
    return true;
}

void books_demote(struct fixture *w)
{
    for (int c = w->first[w->attempt]; c < w->n_containers; c++) {
        const struct nm_yarn_container_id id = model_id(w, c);

        if (!(w->containers[c].lent || w->containers[c].unapplied) || !one_in(w, 100))
            continue;
        nm_lend_demoted(w->l, &id, w->now_usec);
        CHECK(w, nm_lend_was_demoted(w->l, &id));
        w->containers[c].demoted = true;
        w->containers[c].unapplied = false;
        totals.demoted++;
    }
}

void books_lend_again(struct fixture *w)
{
    for (int c = 0; c < w->n_containers; c++) {
        struct container *is = &w->containers[c];

        is->lent |= is->unapplied;
        is->on_node = is->unapplied && one_in(w, 3);
        totals.lent_again += is->unapplied;
        is->running &= !is->unapplied;
        is->queued &= !is->unapplied;
        is->unapplied = false;
    }
    books_check_figures(w);
}
