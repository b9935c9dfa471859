/* SPDX-License-Identifier: Apache-2.0 */

/* Creation and figures of the books. */

#include <errno.h>

#include "yarn/lend/lend-state.h"

int nm_lend_new(struct nm_lend **ret)
{
    struct nm_lend *l = calloc(1, sizeof *l);

    if (!l)
        return -ENOMEM;
    l->application_mib = -1;
    l->left_mib = INT64_MAX;
    *ret = l;
    return 0;
}

void nm_lend_begin_late(struct nm_lend *l)
{
    l->late = true;
    l->revision++;
}

bool nm_lend_is_late(const struct nm_lend *l)
{
    return l->late;
}

struct nm_lend *nm_lend_free(struct nm_lend *l)
{
    if (!l)
        return NULL;
    nm_lend_containers_done(l);
    nm_lend_nodes_done(l);
    free(l->keys);
    free(l->order);
    free(l->changes);
    free(l->released);
    free(l);
    return NULL;
}

void nm_lend_set_rule(struct nm_lend *l, const struct nm_lend_rule *rule)
{
    l->rule = *rule;
}

void nm_lend_set_labelled(struct nm_lend *l, bool labelled)
{
    l->labelled = labelled;
}

uint64_t nm_lend_revision(const struct nm_lend *l)
{
    return l->revision;
}

struct nm_lend_figures nm_lend_figures(const struct nm_lend *l)
{
    struct nm_lend_figures f = l->counts;

    f.keys = (uint32_t)l->n_keys;
    f.lent = (uint32_t)l->n_lent;
    f.waiting = (uint32_t)l->n_queued;
    f.lent_memory_mib = l->lent_memory_mib;
    f.oldest_since_usec = l->n_lent > 0 ? l->by_age[0]->is.lent_usec : 0;
    f.observed_memory_mib_sec += l->observed_mib_usec / NM_USEC_PER_SEC;
    for (size_t i = 0; i < l->n_keys; i++) {
        const struct nm_lend_entry *e = &l->keys[i];

        f.asked += e->lent_asked;
        f.asked_memory_mib += e->lent_asked * nm_lend_keys_memory_mib(e);
        f.observed_now += e->forgotten ? 0 : e->observed;
        f.observed_now_memory_mib += e->forgotten ? 0 : e->observed * e->size.memory_mib;
        f.wanted += nm_lend_keys_wanted(e);
    }
    return f;
}

bool nm_lend_knows_key(const struct nm_lend *l, const struct nm_lend_key *key)
{
    return nm_lend_keys_find(l, key) != NULL;
}

bool nm_lend_is_asked(const struct nm_lend *l, const struct nm_lend_key *key)
{
    const struct nm_lend_entry *e = nm_lend_keys_find(l, key);

    return e && e->lent_asked > 0 && !e->own_opportunistic;
}

bool nm_lend_has_counts(const struct nm_lend *l, const struct nm_lend_key *key)
{
    const struct nm_lend_entry *e = nm_lend_keys_find(l, key);

    return e && e->n_sizes > 0;
}

bool nm_lend_find_history(const struct nm_lend *l, const struct nm_yarn_container_id *id, struct nm_lend_history *ret)
{
    const struct nm_lend_container *c = nm_lend_containers_find(l, id);
    const struct nm_lend_history *h = c ? &c->is : nm_lend_containers_find_ended(l, id);

    if (!h)
        return false;
    *ret = *h;
    return true;
}

void nm_lend_each_history(const struct nm_lend *l, nm_lend_history_cb_t cb, void *userdata)
{
    for (size_t i = 0; i < l->n_lent; i++)
        cb(&l->by_age[i]->is, userdata);
    for (size_t i = 0; i < l->n_ended; i++)
        cb(nm_lend_containers_ended(l, i), userdata);
}

static void count_lent(const struct nm_lend *l, uint32_t counts[NM_LEND_KEYS_MAX])
{
    for (size_t i = 0; i < l->n_lent; i++) {
        const struct nm_lend_entry *e = nm_lend_keys_find(l, &l->by_age[i]->is.key);

        if (e)
            counts[e - l->keys]++;
    }
}

void nm_lend_each_key(const struct nm_lend *l, nm_lend_key_cb_t cb, void *userdata)
{
    uint32_t lent[NM_LEND_KEYS_MAX] = {};

    count_lent(l, lent);
    for (size_t i = 0; i < l->n_keys; i++) {
        const struct nm_lend_entry *e = &l->keys[i];
        const struct nm_lend_key_view v = {
            .key = e->key,
            .size = e->size,
            .wanted = nm_lend_keys_wanted(e),
            .lent_asked = e->lent_asked,
            .lent = lent[i],
            .observed = e->forgotten ? 0 : e->observed,
            .since_usec = nm_lend_keys_wanted(e) > 0 ? e->batches[0].since_usec : 0,
            .reason = e->reason,
            .backs_off_until_usec =
                NM_MAX(e->backs_off_until_usec, nm_lend_keys_preempted_until(l, e->key.priority)),
        };

        cb(&v, userdata);
    }
    if (l->left_out.wanted > 0 && !nm_lend_keys_find(l, &l->left_out.key))
        cb(&l->left_out, userdata);
}
