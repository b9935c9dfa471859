/* SPDX-License-Identifier: Apache-2.0 */

/* See lend-model.h. */

#include "lend-model.h"

static const struct nm_lend_key few_keys[N_FEW_KEYS] = {{5, -1}, {10, 0}, {20, -1}, {20, 3}};
const struct nm_lend_size model_sizes[N_SIZES] = {{1024, 1}, {2048, 2}};

/* The books give up the first idle key in their order, so each of the many keys may have to go. */
struct nm_lend_key model_key(int key)
{
    return key < N_FEW_KEYS ? few_keys[key] : (struct nm_lend_key){key * 7 % 30, key};
}

int model_key_index(const struct nm_lend_key *key)
{
    int k = 0;

    if (key->request_id >= N_FEW_KEYS)
        return (int)key->request_id;
    while (few_keys[k].priority != key->priority || few_keys[k].request_id != key->request_id)
        k++;
    return k;
}

/* Each attempt numbers its containers from 1. */
struct nm_yarn_container_id model_id(const struct fixture *w, int c)
{
    const int attempt = w->containers[c].attempt;

    return (struct nm_yarn_container_id){{{1410901177871, 1}, attempt + 1}, c - w->first[attempt] + 1};
}

int model_index(const struct fixture *w, const struct nm_yarn_container_id *id)
{
    return w->first[id->attempt.number - 1] + (int)id->number - 1;
}

uint64_t random_number(struct fixture *w, uint64_t below)
{
    /* splitmix64, which also gives independent numbers for consecutive seeds */
    uint64_t z = (w->random += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

bool one_in(struct fixture *w, uint64_t n)
{
    return random_number(w, n) == 0;
}

int random_int(struct fixture *w, int below)
{
    return (int)random_number(w, (uint64_t)below);
}

static int new_container(struct fixture *w, int key, int size, bool opportunistic)
{
    CHECK(w, w->n_containers < CONTAINERS_MAX);
    w->containers[w->n_containers] = (struct container){
        .key = key, .host = random_int(w, N_HOSTS), .attempt = w->attempt, .size = model_sizes[size],
        .opportunistic = opportunistic, .own = opportunistic && w->rm.has_own[key]};
    if (one_in(w, 3))
        w->containers[w->n_containers].size.memory_mib += 512; /* rounded up */
    return w->n_containers++;
}

void model_allocate(struct fixture *w)
{
    struct resource_manager *rm = &w->rm;

    for (int k = 0; rm->guaranteed_room && k < w->n_keys; k++)
        while (rm->guaranteed[k] > 0 && rm->n_pending < GRANTS_MAX / 2 && !one_in(w, 3)) {
            rm->pending[rm->n_pending++] = new_container(w, k, rm->size[k], false);
            rm->guaranteed[k]--;
        }
}

static int32_t pending_of(const struct resource_manager *rm, const struct container *all, int key)
{
    int32_t n = 0;

    for (size_t i = 0; i < rm->n_pending; i++)
        n += all[rm->pending[i]].key == key;
    return n;
}

static void read_message(struct fixture *w, const struct message *m)
{
    struct resource_manager *rm = &w->rm;

    if (m->own && !rm->has_own[m->key]) {
        rm->has_own[m->key] = true;
        memset(rm->own[m->key], 0, sizeof rm->own[m->key]);
    }
    if (m->own)
        rm->own[m->key][m->size] = m->count;
    if (m->opportunistic && !rm->one_table) {
        rm->opportunistic[m->key][m->size] = m->count;
        return;
    }
    rm->guaranteed[m->key] = m->count;
    rm->size[m->key] = m->size;
    if (w->unread[m->key])
        w->surplus[m->key] = pending_of(rm, w->containers, m->key);
    w->unread[m->key] = false;
}

static void grant_opportunistic(struct fixture *w, struct answer *a)
{
    struct resource_manager *rm = &w->rm;

    for (int k = 0; rm->opportunistic_room && k < w->n_keys; k++)
        for (int s = 0; s < N_SIZES; s++)
            while (rm->opportunistic[k][s] > 0 && a->n_granted < GRANTS_MAX && !one_in(w, 4)) {
                int c = new_container(w, k, s, true);

                if (one_in(w, 60)) /* a limit of opportunistic containers */
                    w->containers[c].size.memory_mib = 512;
                a->granted[a->n_granted++] = c;
                rm->opportunistic[k][s]--;
                rm->own[k][s] -= rm->has_own[k];
            }
}

/* What the books do with a key must not change what the master itself asks for as opportunistic. */
static void check_own_counts(const struct fixture *w)
{
    const struct resource_manager *rm = &w->rm;

    for (int k = 0; k < w->n_keys; k++)
        for (int s = 0; rm->has_own[k] && !w->unclear[k] && s < N_SIZES; s++)
            CHECK(w, rm->opportunistic[k][s] == rm->own[k][s]);
}

static void end_and_promote(struct fixture *w, struct answer *a)
{
    for (int c = 0; c < w->n_containers; c++) {
        struct container *is = &w->containers[c];

        if (!is->lent && !is->unapplied)
            continue;
        if (one_in(w, 15) && a->n_ended < GRANTS_MAX) {
            a->preempted[a->n_ended] = one_in(w, 4);
            a->ended[a->n_ended++] = c;
        }
        /* also one that ends in the same answer */
        if (is->promoting && one_in(w, 2) && a->n_promoted < GRANTS_MAX) {
            a->promoted[a->n_promoted++] = c;
            is->promoting = false;
        }
    }
}

static void read_promotions(struct fixture *w, struct answer *a)
{
    for (size_t i = 0; i < w->n_promotions; i++) {
        struct container *c = &w->containers[w->promotions[i]];

        if (c->promoting || one_in(w, 8))
            a->refused[a->n_refused++] = w->promotions[i];
        else
            c->promoting = true;
    }
}

const struct answer *model_answer_call(struct fixture *w)
{
    struct resource_manager *rm = &w->rm;
    struct answer a = {.id = w->m.id};

    if (rm->has_answer && rm->answer.id == w->m.id)
        return &rm->answer;
    for (size_t i = 0; i < w->n_messages; i++)
        read_message(w, &w->messages[i]);
    check_own_counts(w);
    memcpy(a.granted, rm->pending, rm->n_pending * sizeof rm->pending[0]);
    a.n_granted = rm->n_pending;
    rm->n_pending = 0;
    grant_opportunistic(w, &a);
    end_and_promote(w, &a);
    read_promotions(w, &a);
    rm->answer = a;
    rm->has_answer = true;
    return &rm->answer;
}

bool model_refuse_call(struct fixture *w)
{
    const bool reads = !w->rm.one_table && one_in(w, 2);

    for (size_t i = 0; reads && i < w->n_messages; i++)
        if (w->messages[i].opportunistic)
            read_message(w, &w->messages[i]);
    check_own_counts(w);
    return reads;
}

void model_restart(struct fixture *w)
{
    w->rm = (struct resource_manager){.one_table = w->rm.one_table, .guaranteed_room = w->rm.guaranteed_room,
                                      .opportunistic_room = w->rm.opportunistic_room};
    for (int c = 0; c < w->n_containers; c++)
        w->containers[c].promoting = false;
}

int32_t model_asked(const struct fixture *w, int key)
{
    return w->rm.guaranteed[key] + w->rm.opportunistic[key][0] + w->rm.opportunistic[key][1];
}
