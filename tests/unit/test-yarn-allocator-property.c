/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Random histories of one application master's asks (resource requests), in a small cluster of eight hosts. A model,
 * which implements the same rules with simple arrays, predicts each container, and the allocator must place the same
 * container. A second allocator is saved and restored from time to time and must make the same decisions.
 *
 *   test-yarn-allocator-property [HISTORIES [SEED]]
 *
 * History number i has the seed SEED + i. A failure prints the seed of its history. To repeat the failure, pass 1 and
 * this seed.
 */

#include <stdio.h>
#include <stdlib.h>

#include "yarn/allocator/allocator.h"

#define N_HOSTS 8
#define N_RACKS 3
#define N_KEYS 12 /* number of possible asks */
#define HEARTBEATS 60

static const char *const hosts[N_HOSTS] = {"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"};
static const char *const racks[N_RACKS] = {"/r0", "/r1", "/r2"};
static const char *const partitions[] = {"", "gpu"};

/* In the order in which the allocator serves the asks. */
static const struct key {
    int32_t priority;
    int64_t request_id;
    struct nm_yarn_alloc_size size, normal;
} keys[N_KEYS] = {
    {0, -1, {512, 1}, {1024, 1}},  {0, 7, {512, 1}, {1024, 1}},   {5, -1, {512, 1}, {1024, 1}},
    {5, -1, {512, 2}, {1024, 2}},  {5, -1, {1024, 1}, {1024, 1}}, {5, 0, {1, 0}, {1024, 1}},
    {5, 3, {5000, 1}, {4096, 1}},  {20, -1, {1025, 1}, {2048, 1}}, {20, 1, {1024, 9}, {1024, 4}},
    {20, 2, {1024, 1}, {1024, 1}}, {20, 3, {2048, 3}, {2048, 3}}, {100, 0, {1024, 1}, {1024, 1}},
};

struct wanted {
    int32_t count, at_host[N_HOSTS], at_rack[N_RACKS];
    bool relax, rack_relaxes[N_RACKS];
    const char *partition;
};

struct listed {
    int host, rack, partition;
    int32_t room;
};

struct fixture {
    uint64_t seed, random, now_usec;
    struct nm_yarn_allocator *a, *twin;
    struct nm_yarn_alloc_limits limits;
    struct wanted wanted[N_KEYS];
    bool blacklisted[N_HOSTS];
    struct listed list[N_HOSTS];
    size_t n_list;
    uint32_t used[N_HOSTS];
    uint64_t placed_usec[N_HOSTS][4096]; /* the times of placements, with the oldest one first */
    int64_t placed_mib[N_HOSTS][4096];
    size_t n_placed[N_HOSTS];
    struct nm_yarn_alloc_measure measures[N_HOSTS];
    uint64_t counted_usec[N_HOSTS]; /* time of the measurement to which `claimed_mib` belongs */
    int64_t claimed_mib[N_HOSTS];
    int64_t lent_mib[N_HOSTS], lent_most_mib; /* lent_most_mib: limit on each node */
};

struct totals {
    uint64_t placed[NM_YARN_ALLOC_N_RULES], second_on_host, restored, full, lent, refused_lent, waits, full_of_lent,
        startable;
};
static struct totals totals;

#define CHECK(w, condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "seed %llu: %s:%d: %s\n", (unsigned long long)(w)->seed, __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

static uint64_t random_number(struct fixture *w, uint64_t below)
{
    /* splitmix64, which also gives independent numbers for consecutive seeds */
    uint64_t z = (w->random += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

static bool one_in(struct fixture *w, uint64_t n)
{
    return random_number(w, n) == 0;
}

/* ---- random events -------------------------------------------------------------------------------- */

static struct nm_yarn_ask ask_of(struct fixture *w, size_t k)
{
    return (struct nm_yarn_ask){
        .priority = keys[k].priority,
        .request_id = keys[k].request_id,
        .size = keys[k].size,
        .count = one_in(w, 5) ? 0 : (int32_t)random_number(w, 6),
        .relax = !one_in(w, 4),
        .partition = partitions[one_in(w, 6)],
    };
}

/* Resets an ask that requests no container, because the allocator drops such an ask. */
static void drop_empty(struct wanted *want)
{
    if (want->count > 0)
        return;
    for (size_t i = 0; i < N_HOSTS; i++)
        if (want->at_host[i] > 0)
            return;
    for (size_t i = 0; i < N_RACKS; i++)
        if (want->at_rack[i] > 0)
            return;
    *want = (struct wanted){.relax = true, .partition = ""};
}

static void random_ask(struct fixture *w, struct nm_yarn_ask *ret)
{
    size_t k = random_number(w, N_KEYS), i;
    struct wanted *want = &w->wanted[k];
    struct nm_yarn_ask ask = ask_of(w, k);

    switch (random_number(w, 4)) {
    case 0:
        i = random_number(w, N_HOSTS);
        ask.where = hosts[i];
        want->at_host[i] = ask.count;
        break;
    case 1:
        i = random_number(w, N_RACKS);
        ask.where = racks[i];
        want->at_rack[i] = ask.count;
        want->rack_relaxes[i] = ask.relax;
        break;
    default:
        ask.where = "*";
        want->count = ask.count;
        want->relax = ask.relax;
        want->partition = ask.partition;
    }
    drop_empty(want);
    *ret = ask;
}

static void ask_both(struct fixture *w)
{
    struct nm_yarn_ask asks[6];
    const char *more[2], *fewer[2];
    struct nm_yarn_alloc_request r = {
        .asks = asks, .n_asks = random_number(w, 7), .blacklist = more, .unblacklist = fewer};

    for (size_t i = 0; i < r.n_asks; i++)
        random_ask(w, &asks[i]);
    for (r.n_unblacklist = 0; r.n_unblacklist < 2 && one_in(w, 3); r.n_unblacklist++) {
        size_t h = random_number(w, N_HOSTS);

        fewer[r.n_unblacklist] = hosts[h];
        w->blacklisted[h] = false;
    }
    for (r.n_blacklist = 0; r.n_blacklist < 2 && one_in(w, 6); r.n_blacklist++) {
        size_t h = random_number(w, N_HOSTS);

        more[r.n_blacklist] = hosts[h];
        w->blacklisted[h] = true;
    }
    CHECK(w, nm_yarn_allocator_ask(w->a, &r, w->now_usec) == 0);
    CHECK(w, nm_yarn_allocator_ask(w->twin, &r, w->now_usec) == 0);
}

static bool is_listed(const struct fixture *w, int host)
{
    for (size_t i = 0; i < w->n_list; i++)
        if (w->list[i].host == host)
            return true;
    return false;
}

static void new_list(struct fixture *w)
{
    struct nm_yarn_alloc_node nodes[N_HOSTS] = {};
    size_t n = random_number(w, N_HOSTS + 1);

    w->n_list = 0;
    for (size_t i = 0; i < n; i++) {
        struct listed l = {(int)random_number(w, N_HOSTS), (int)random_number(w, N_RACKS), one_in(w, 5),
                           one_in(w, 4) ? (int32_t)random_number(w, 5) : -1};

        nodes[i] = (struct nm_yarn_alloc_node){hosts[l.host], 45454, NULL, racks[l.rack], partitions[l.partition],
                                               l.room};
        if (!is_listed(w, l.host)) /* a host that is in the list twice counts once */
            w->list[w->n_list++] = l;
    }
    /* The placements on a host are no longer counted when the host is removed from the list. */
    for (int h = 0; h < N_HOSTS; h++)
        if (!is_listed(w, h)) {
            w->n_placed[h] = 0;
            w->counted_usec[h] = 0;
            w->claimed_mib[h] = 0;
        }
    CHECK(w, nm_yarn_allocator_set_nodes(w->a, nodes, n) == 0);
    CHECK(w, nm_yarn_allocator_set_nodes(w->twin, nodes, n) == 0);
}

static int64_t lendable(const void *userdata, const char *host, int32_t port)
{
    const struct fixture *w = userdata;

    CHECK(w, port == 45454);
    return w->lent_most_mib - w->lent_mib[host[1] - '0'];
}

static void new_limits(struct fixture *w)
{
    memset(w->lent_mib, 0, sizeof w->lent_mib); /* the lent containers have ended */
    w->lent_most_mib = 1024 * (int64_t)random_number(w, 8);
    w->limits = (struct nm_yarn_alloc_limits){
        .min = {1024, 1},
        .max = {4096, 4},
        .increment = {1024, 1},
        .per_heartbeat = one_in(w, 3) ? (int32_t)random_number(w, 9) - 1 : -1,
        .fill = one_in(w, 2),
        .queue_length = (int32_t)random_number(w, 7),
        .window_usec = 1500000,
        .lends = one_in(w, 3),
        .lends_to_unknown = one_in(w, 2),
        .lendable = one_in(w, 2) ? lendable : NULL,
        .userdata = w,
    };
    nm_yarn_allocator_set_limits(w->a, &w->limits);
    nm_yarn_allocator_set_limits(w->twin, &w->limits);
}

static void look_up(void *userdata, const struct nm_yarn_alloc_node *node, struct nm_yarn_alloc_measure *ret)
{
    const struct fixture *w = userdata;

    *ret = w->measures[node->host[1] - '0'];
}

/* Some nodes say something new. */
static void measure_some(struct fixture *w)
{
    for (int h = 0; h < N_HOSTS; h++)
        if (one_in(w, 3))
            w->measures[h] = (struct nm_yarn_alloc_measure){
                .kind = (enum nm_yarn_alloc_kind)random_number(w, 3), .awaited = one_in(w, 2),
                .measured = !one_in(w, 4), .admits = !one_in(w, 4),
                .unused_memory_mib = 1024 * (int64_t)random_number(w, 8), .at_usec = w->now_usec};
}

static bool is_recent(const struct fixture *w, uint64_t usec)
{
    const uint64_t quarter = w->limits.window_usec / 4;

    return w->now_usec / quarter - usec / quarter <= 4;
}

static void tell_both(struct fixture *w)
{
    measure_some(w);
    nm_yarn_allocator_measure(w->a, w->now_usec, look_up, w);
    nm_yarn_allocator_measure(w->twin, w->now_usec, look_up, w);
    for (size_t k = 0; k < w->n_list; k++) {
        const int h = w->list[k].host;

        if (w->measures[h].at_usec == w->counted_usec[h])
            continue;
        w->counted_usec[h] = w->measures[h].at_usec;
        w->claimed_mib[h] = 0;
        for (size_t i = 0; i < w->n_placed[h]; i++)
            w->claimed_mib[h] += is_recent(w, w->placed_usec[h][i]) ? w->placed_mib[h][i] : 0;
    }
}

/* ---- expected placements --------------------------------------------------------------------------- */

static int64_t room_of(const struct fixture *w, const struct listed *l)
{
    int64_t most = l->room >= 0 ? l->room : w->limits.fill && w->limits.queue_length > 0 ? w->limits.queue_length : -1;

    if (most < 0)
        return -1;
    for (size_t i = 0; i < w->n_placed[l->host]; i++)
        most -= is_recent(w, w->placed_usec[l->host][i]);
    return most > 0 ? most : 0;
}

static bool is_fresh(const struct fixture *w, int h)
{
    return w->measures[h].measured && w->now_usec - w->measures[h].at_usec < NM_YARN_ALLOC_FRESH_USEC;
}

static int64_t unused_of(const struct fixture *w, int h)
{
    const int64_t left = w->measures[h].unused_memory_mib - w->claimed_mib[h];

    return !is_fresh(w, h) ? -1 : left > 0 ? left : 0;
}

static bool would_wait(const struct fixture *w, int h, size_t k)
{
    return is_fresh(w, h) && (!w->measures[h].admits || unused_of(w, h) < keys[k].normal.memory_mib);
}

static bool may_be_lent(const struct fixture *w, int h, size_t k)
{
    const struct nm_yarn_alloc_measure *m = &w->measures[h];

    if (w->limits.lendable && w->lent_mib[h] + keys[k].normal.memory_mib > w->lent_most_mib)
        return false;
    return m->kind != NM_YARN_ALLOC_OTHER && !would_wait(w, h, k) &&
           (is_fresh(w, h) || (!m->awaited && w->limits.lends_to_unknown));
}

static bool is_allowed(const struct fixture *w, size_t k, const struct listed *l, int rule)
{
    const struct wanted *want = &w->wanted[k];
    bool lifted = w->limits.fill && room_of(w, l) >= 0;

    if (w->blacklisted[l->host] || strcmp(partitions[l->partition], want->partition) != 0 || room_of(w, l) == 0)
        return false;
    if (w->limits.lends && !may_be_lent(w, l->host, k))
        return false;
    if (rule == NM_YARN_ALLOC_NODE_LOCAL)
        return want->at_host[l->host] > 0;
    if (w->used[l->host] > 0 && !lifted)
        return false;
    return rule == NM_YARN_ALLOC_ANY ? want->relax : want->at_rack[l->rack] > 0 && want->rack_relaxes[l->rack];
}

static bool is_better(const struct fixture *w, size_t k, const struct listed *a, const struct listed *b)
{
    const bool wait_a = would_wait(w, a->host, k), wait_b = would_wait(w, b->host, k);

    if (wait_a != wait_b)
        return wait_b;
    if (w->used[a->host] != w->used[b->host])
        return w->used[a->host] < w->used[b->host];
    return unused_of(w, a->host) > unused_of(w, b->host);
}

static const struct listed *expected(const struct fixture *w, size_t k, int *ret_rule)
{
    for (int rule = 0; rule < NM_YARN_ALLOC_N_RULES; rule++) {
        const struct listed *best = NULL;

        for (size_t i = 0; i < w->n_list; i++)
            if (is_allowed(w, k, &w->list[i], rule) && (!best || is_better(w, k, &w->list[i], best)))
                best = &w->list[i];
        if (best) {
            *ret_rule = rule;
            return best;
        }
    }
    return NULL;
}

static void check_placement(const struct fixture *w, size_t k, const struct listed *l, int rule,
                            const struct nm_yarn_placement *p)
{
    uint32_t skipped = 0;

    CHECK(w, strcmp(p->node->host, hosts[l->host]) == 0);
    CHECK(w, (int)p->why.rule == rule);
    CHECK(w, p->priority == keys[k].priority && p->request_id == keys[k].request_id);
    CHECK(w, p->size.memory_mib == keys[k].normal.memory_mib && p->size.vcores == keys[k].normal.vcores);
    CHECK(w, p->why.listed == w->n_list && p->why.position == l - w->list + 1);
    for (size_t i = 0; i < NM_YARN_N_SKIP_REASONS; i++)
        skipped += p->why.skipped[i];
    CHECK(w, skipped + 1 == p->why.position);
    /* Checks the documented guarantees in a second way, independent of the model. */
    CHECK(w, !w->blacklisted[l->host]);
    CHECK(w, !w->limits.lends || w->measures[l->host].kind != NM_YARN_ALLOC_OTHER);
    CHECK(w, !w->limits.lends || !is_fresh(w, l->host) ||
                 (w->measures[l->host].admits &&
                  w->claimed_mib[l->host] + p->size.memory_mib <= w->measures[l->host].unused_memory_mib));
    CHECK(w, !w->limits.lends || !w->limits.lendable ||
                 w->lent_mib[l->host] + p->size.memory_mib <= w->lent_most_mib);
    CHECK(w, w->used[l->host] == 0 || w->limits.fill || rule == NM_YARN_ALLOC_NODE_LOCAL);
    totals.second_on_host += w->used[l->host] > 0;
    totals.lent += w->limits.lends;
    totals.waits += would_wait(w, l->host, k);
    totals.full_of_lent += p->why.skipped[NM_YARN_SKIP_LENT_LIMIT];
    totals.placed[rule]++;
}

static void take(struct fixture *w, size_t k, const struct listed *l, int rule)
{
    struct wanted *want = &w->wanted[k];

    w->used[l->host]++;
    CHECK(w, w->n_placed[l->host] < 4096);
    w->claimed_mib[l->host] += keys[k].normal.memory_mib;
    if (w->limits.lends)
        w->lent_mib[l->host] += keys[k].normal.memory_mib;
    w->placed_mib[l->host][w->n_placed[l->host]] = keys[k].normal.memory_mib;
    w->placed_usec[l->host][w->n_placed[l->host]++] = w->now_usec;
    if (--want->count == 0) {
        *want = (struct wanted){.relax = true, .partition = ""};
        return;
    }
    want->at_host[l->host] -= rule == NM_YARN_ALLOC_NODE_LOCAL;
    want->at_rack[l->rack] -= rule == NM_YARN_ALLOC_RACK_LOCAL;
}

static void play(struct fixture *w, const struct nm_yarn_placement *placed, size_t n)
{
    size_t done = 0, before;
    size_t most = w->limits.per_heartbeat > 0 ? (size_t)w->limits.per_heartbeat : NM_YARN_ALLOC_HEARTBEAT_MAX;

    memset(w->used, 0, sizeof w->used);
    do {
        before = done;
        for (size_t k = 0; k < N_KEYS && done < most; k++) {
            int rule;
            const struct listed *l = w->wanted[k].count > 0 ? expected(w, k, &rule) : NULL;

            totals.refused_lent += w->limits.lends && w->wanted[k].count > 0 && !l;
            if (!l)
                continue;
            CHECK(w, done < n);
            check_placement(w, k, l, rule, &placed[done++]);
            take(w, k, l, rule);
        }
    } while (done > before);
    CHECK(w, done == n);
    for (size_t i = 0; i < w->n_list; i++)
        totals.full += room_of(w, &w->list[i]) == 0;
}

static void compare(const struct fixture *w, const struct nm_yarn_placement *a, const struct nm_yarn_placement *b,
                    size_t n)
{
    for (size_t i = 0; i < n; i++) {
        CHECK(w, strcmp(a[i].node->host, b[i].node->host) == 0 && a[i].priority == b[i].priority);
        CHECK(w, a[i].request_id == b[i].request_id && a[i].size.memory_mib == b[i].size.memory_mib);
        CHECK(w, a[i].why.rule == b[i].why.rule && a[i].why.waited_usec == b[i].why.waited_usec);
        CHECK(w, a[i].why.hosts == b[i].why.hosts && a[i].why.racks == b[i].why.racks);
    }
}

/* Saves and restores the second allocator. All its state must be the same, except for the list of nodes, which is set
 * again. */
static void restore_twin(struct fixture *w)
{
    uint8_t *one, *other, *again;
    size_t size_one, size_other, size_again;
    struct nm_yarn_allocator *restored;

    CHECK(w, nm_yarn_allocator_pack(w->a, &one, &size_one) == 0);
    CHECK(w, nm_yarn_allocator_pack(w->twin, &other, &size_other) == 0);
    CHECK(w, size_one == size_other && memcmp(one, other, size_one) == 0);
    CHECK(w, nm_yarn_allocator_restore((struct nm_bytes){other, size_other}, &restored) == 0);
    CHECK(w, nm_yarn_allocator_pack(restored, &again, &size_again) == 0);
    CHECK(w, size_one == size_again && memcmp(one, again, size_one) == 0);
    nm_yarn_allocator_free(w->twin);
    w->twin = restored;
    nm_yarn_allocator_set_limits(w->twin, &w->limits);
    free(one);
    free(other);
    free(again);
    totals.restored++;
}

static bool has_lendable(const struct fixture *w, int64_t memory_mib)
{
    for (size_t i = 0; i < w->n_list; i++) {
        const int h = w->list[i].host;

        if (!w->blacklisted[h] && w->list[i].partition == 0 && w->measures[h].kind != NM_YARN_ALLOC_OTHER &&
            w->lent_mib[h] + memory_mib <= w->lent_most_mib)
            return true;
    }
    return false;
}

static void check_lendable(const struct fixture *w)
{
    const int64_t largest_mib = nm_yarn_allocator_lendable_mib(w->a);

    CHECK(w, (largest_mib == INT64_MAX) == (!w->limits.lendable || w->n_list == 0));
    for (size_t k = 0; k < N_KEYS && largest_mib < INT64_MAX; k++)
        if (keys[k].size.memory_mib <= w->limits.max.memory_mib)
            CHECK(w, (keys[k].size.memory_mib <= largest_mib) == has_lendable(w, keys[k].normal.memory_mib));
}

static void set_up_probe(struct fixture *w, struct nm_yarn_allocator *probe)
{
    struct nm_yarn_alloc_node nodes[N_HOSTS] = {};
    struct nm_yarn_alloc_limits limits = w->limits;
    const char *names[N_HOSTS];
    struct nm_yarn_alloc_request r = {.blacklist = names};

    limits.lends = true;
    for (size_t i = 0; i < w->n_list; i++)
        nodes[i] = (struct nm_yarn_alloc_node){hosts[w->list[i].host], 45454, NULL, racks[w->list[i].rack],
                                               partitions[w->list[i].partition], w->list[i].room};
    for (size_t h = 0; h < N_HOSTS; h++)
        if (w->blacklisted[h])
            names[r.n_blacklist++] = hosts[h];
    nm_yarn_allocator_set_limits(probe, &limits);
    CHECK(w, nm_yarn_allocator_set_nodes(probe, nodes, w->n_list) == 0);
    CHECK(w, nm_yarn_allocator_ask(probe, &r, w->now_usec) == 0);
    nm_yarn_allocator_measure(probe, w->now_usec, look_up, w);
}

/* In two heartbeats of an allocator with one large ask, exactly what can start is placed. */
static void check_startable(struct fixture *w)
{
    const size_t k = random_number(w, N_KEYS);
    const struct nm_yarn_ask ask = {.priority = 1, .size = keys[k].size, .count = 1000, .where = "*", .relax = true};
    const struct nm_yarn_placement *placed;
    struct nm_yarn_allocator *probe;

    CHECK(w, nm_yarn_allocator_new(&probe) == 0);
    set_up_probe(w, probe);
    CHECK(w, nm_yarn_allocator_ask(probe, &(struct nm_yarn_alloc_request){.asks = &ask, .n_asks = 1}, w->now_usec) ==
                 0);
    for (int i = 0; i < 2; i++) {
        const uint32_t startable = nm_yarn_allocator_startable(probe, ask.size, w->now_usec);
        size_t n;

        CHECK(w, nm_yarn_allocator_allocate(probe, w->now_usec, &placed, &n) == 0);
        CHECK(w, n == startable || (i == 1 && w->limits.lendable)); /* the model's limit doesn't count the first ones */
        totals.startable += n;
    }
    nm_yarn_allocator_free(probe);
}

static void heartbeat(struct fixture *w)
{
    const struct nm_yarn_placement *placed, *twins;
    uint64_t asked = 0;
    size_t n, n_twins;

    if (one_in(w, 10))
        new_limits(w);
    ask_both(w);
    if (one_in(w, 8)) {
        restore_twin(w);
        /* Waits until the queue lengths contain the placed containers, and gives both allocators a new list of nodes. A
         * restored allocator has neither the former placements nor the list. All nodes say something new for the same
         * reason. */
        w->now_usec += 2 * w->limits.window_usec;
        for (int h = 0; h < N_HOSTS; h++)
            w->measures[h].at_usec = w->now_usec;
        new_list(w);
    } else if (one_in(w, 2))
        new_list(w);
    tell_both(w);
    for (size_t k = 0; k < N_KEYS; k++)
        asked += (uint64_t)w->wanted[k].count;
    CHECK(w, nm_yarn_allocator_figures(w->a).outstanding == asked);
    check_lendable(w);
    check_startable(w);
    CHECK(w, nm_yarn_allocator_allocate(w->a, w->now_usec, &placed, &n) == 0);
    CHECK(w, nm_yarn_allocator_allocate(w->twin, w->now_usec, &twins, &n_twins) == 0);
    CHECK(w, n == n_twins && n <= asked);
    compare(w, placed, twins, n);
    play(w, placed, n);
    CHECK(w, nm_yarn_allocator_figures(w->a).outstanding == asked - n);
    w->now_usec += random_number(w, 2000000);
}

static void history(uint64_t seed)
{
    struct fixture w = {.seed = seed, .random = seed, .now_usec = 1000000000};

    CHECK(&w, nm_yarn_allocator_new(&w.a) == 0 && nm_yarn_allocator_new(&w.twin) == 0);
    for (size_t k = 0; k < N_KEYS; k++)
        drop_empty(&w.wanted[k]);
    new_limits(&w);
    new_list(&w);
    for (size_t i = 0; i < HEARTBEATS; i++)
        heartbeat(&w);
    nm_yarn_allocator_free(w.a);
    nm_yarn_allocator_free(w.twin);
}

/* With the sanitizers a history takes several times as long. 200 are enough for all cases to happen. */
#ifdef __SANITIZE_ADDRESS__
#define HISTORIES 200
#else
#define HISTORIES 600
#endif

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : HISTORIES;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

    for (uint64_t i = 0; i < n; i++)
        history(seed + i);
    printf("%llu histories: %llu node-local, %llu rack-local, %llu anywhere; %llu beside another on a host; "
           "%llu times a queue was full; %llu restores; %llu lent; %llu times no node for a lent one; %llu where "
           "they would wait; %llu nodes with as much lent memory as is allowed; %llu that can start\n",
           (unsigned long long)n, (unsigned long long)totals.placed[NM_YARN_ALLOC_NODE_LOCAL],
           (unsigned long long)totals.placed[NM_YARN_ALLOC_RACK_LOCAL],
           (unsigned long long)totals.placed[NM_YARN_ALLOC_ANY], (unsigned long long)totals.second_on_host,
           (unsigned long long)totals.full, (unsigned long long)totals.restored, (unsigned long long)totals.lent,
           (unsigned long long)totals.refused_lent, (unsigned long long)totals.waits,
           (unsigned long long)totals.full_of_lent, (unsigned long long)totals.startable);
    /* Fails if the histories didn't cover each of these cases. */
    return n >= 100 && (!totals.placed[0] || !totals.placed[1] || !totals.placed[2] || !totals.second_on_host ||
                        !totals.full || !totals.restored || !totals.lent || !totals.refused_lent || !totals.waits ||
                        !totals.full_of_lent || !totals.startable);
}
