/* SPDX-License-Identifier: Apache-2.0 */

/* See lend-model.h. */

#include "lend-model.h"

const struct nm_lend_key model_keys[N_KEYS] = {{5, -1}, {10, 0}, {20, -1}, {20, 3}};
const struct nm_lend_size model_sizes[N_SIZES] = {{1024, 1}, {2048, 2}};

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
        .key = key, .host = random_int(w, N_HOSTS), .size = model_sizes[size], .opportunistic = opportunistic};
    if (one_in(w, 3))
        w->containers[w->n_containers].size.memory_mib += 512; /* rounded up */
    return w->n_containers++;
}

void model_allocate(struct fixture *w)
{
    struct resource_manager *rm = &w->rm;

    for (int k = 0; rm->guaranteed_room && k < N_KEYS; k++)
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

    for (int k = 0; rm->opportunistic_room && k < N_KEYS; k++)
        for (int s = 0; s < N_SIZES; s++)
            while (rm->opportunistic[k][s] > 0 && a->n_granted < GRANTS_MAX && !one_in(w, 4)) {
                int c = new_container(w, k, s, true);

                if (one_in(w, 60)) /* a limit of opportunistic containers */
                    w->containers[c].size.memory_mib = 512;
                a->granted[a->n_granted++] = c;
                rm->opportunistic[k][s]--;
            }
}

static void end_and_promote(struct fixture *w, struct answer *a)
{
    for (int c = 0; c < w->n_containers; c++) {
        struct container *is = &w->containers[c];

        if (!is->lent)
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

void model_refuse_call(struct fixture *w)
{
    const bool reads = !w->rm.one_table && one_in(w, 2);

    for (size_t i = 0; reads && i < w->n_messages; i++)
        if (w->messages[i].opportunistic)
            read_message(w, &w->messages[i]);
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
