/* SPDX-License-Identifier: Apache-2.0 */

/* See node-rooms.h. */

#include "yarn/proxy/node-rooms.h"

#include <errno.h>
#include <sys/random.h>

#include "util/array.h"
#include "util/clock.h"

#define CLAIM_STEP_USEC (500 * NM_USEC_PER_MSEC) /* placements within this time are one claim */
#define CLAIMS_MAX 16u /* enough for the time of a claim and the time between two answers */
#define CLAIM_MIB_MAX (INT64_C(1) << 40) /* so that sums don't overflow */

/* Placements of about the same time. */
struct claim {
    int64_t memory_mib;
    uint64_t at_usec; /* of the first one, by nm_steady_usec() */
};

struct entry {
    const char *host; /* first member, as nm_bsearch_name() requires */
    int32_t port;
    uint64_t used_usec;
    uint64_t asked_usec;   /* time of the last question; 0: none */
    uint64_t waiting_usec; /* time of the first question since the last answer; 0: none */
    bool measured, admits; /* measured: the node has answered */
    int64_t unused_memory_mib;
    uint64_t answered_usec; /* time of the last answer, by nm_steady_usec() */
    struct claim claims[CLAIMS_MAX]; /* oldest first */
    unsigned n_claims;
    int64_t observed_mib, others_mib; /* what masters of this node, and of other nodes, would have been lent there */
};

struct nm_node_rooms {
    struct nm_peers *peers;
    uint64_t observer; /* see nm_peer_caller */
    struct entry *list; /* sorted by host */
    size_t n;
};

int nm_node_rooms_new(struct nm_peers *peers, bool observes, struct nm_node_rooms **ret)
{
    struct nm_node_rooms *all = calloc(1, sizeof *all);

    if (!all)
        return -ENOMEM;
    all->peers = peers;
    /* Without a number, the masters of other nodes don't know what is observed here. */
    if (!observes || getrandom(&all->observer, sizeof all->observer, GRND_NONBLOCK) != sizeof all->observer)
        all->observer = 0;
    *ret = all;
    return 0;
}

static void remove_entry(struct nm_node_rooms *all, size_t i)
{
    free((char *)(uintptr_t)all->list[i].host);
    (void)memmove(&all->list[i], &all->list[i + 1], (all->n - i - 1) * sizeof *all->list);
    all->n--;
}

struct nm_node_rooms *nm_node_rooms_free(struct nm_node_rooms *all)
{
    if (!all)
        return NULL;
    nm_peers_forget(all->peers, all);
    while (all->n > 0)
        remove_entry(all, all->n - 1);
    free(all->list);
    free(all);
    return NULL;
}

static struct entry *find(const struct nm_node_rooms *all, const char *host, int32_t port)
{
    bool found;
    size_t i = nm_bsearch_name(all->list, all->n, sizeof *all->list, host, &found);

    return found && all->list[i].port == port ? &all->list[i] : NULL;
}

static size_t oldest(const struct nm_node_rooms *all)
{
    size_t found = 0;

    for (size_t i = 1; i < all->n; i++)
        if (all->list[i].used_usec < all->list[found].used_usec)
            found = i;
    return found;
}

/* Adds a node. A host with several NodeManagers has one entry, which belongs to the one that was looked up last. */
static struct entry *add(struct nm_node_rooms *all, const char *host, int32_t port)
{
    struct entry *list;
    bool found;
    size_t i;
    char *copy;

    i = nm_bsearch_name(all->list, all->n, sizeof *all->list, host, &found);
    if (found) {
        all->list[i] =
            (struct entry){.host = all->list[i].host, .port = port, .asked_usec = all->list[i].asked_usec};
        return &all->list[i];
    }
    list = all->n < NM_NODE_ROOMS_MAX ? reallocarray(all->list, all->n + 1, sizeof *list) : all->list;
    copy = strdup(host);
    if (list)
        all->list = list;
    if (!list || !copy) {
        free(copy);
        return NULL;
    }
    if (all->n == NM_NODE_ROOMS_MAX)
        remove_entry(all, oldest(all));
    i = nm_bsearch_name(list, all->n, sizeof *list, host, &found);
    (void)memmove(&list[i + 1], &list[i], (all->n - i) * sizeof *list);
    list[i] = (struct entry){.host = copy, .port = port};
    all->n++;
    return &list[i];
}

/* ---- claims ----------------------------------------------------------------------------------- */

static bool is_over(const struct entry *e, const struct claim *c)
{
    return e->measured && e->answered_usec >= c->at_usec + CLAIM_STEP_USEC + NM_NODE_ROOMS_CLAIM_USEC;
}

/* Drops the claims that the last answer includes. Returns the memory of the others. */
static int64_t count_claims(struct entry *e)
{
    int64_t sum_mib = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < e->n_claims; i++)
        if (!is_over(e, &e->claims[i])) {
            sum_mib += e->claims[i].memory_mib;
            e->claims[n++] = e->claims[i];
        }
    e->n_claims = n;
    return sum_mib;
}

/* Returns the claim for a placement at this time. If there are too many, the newest one counts for a longer time. */
static struct claim *claim_at(struct entry *e, uint64_t now_usec)
{
    struct claim *last;

    if (e->n_claims == 0 ||
        (e->n_claims < CLAIMS_MAX && now_usec - e->claims[e->n_claims - 1].at_usec >= CLAIM_STEP_USEC))
        e->claims[e->n_claims++] = (struct claim){.at_usec = now_usec};
    last = &e->claims[e->n_claims - 1];
    if (now_usec - last->at_usec >= CLAIM_STEP_USEC)
        last->at_usec = now_usec;
    return last;
}

void nm_node_rooms_claim(struct nm_node_rooms *all, const char *host, int32_t port, int64_t memory_mib)
{
    struct entry *e = find(all, host, port);
    struct claim *c;

    if (!e)
        return;
    (void)count_claims(e);
    c = claim_at(e, nm_steady_usec());
    memory_mib = NM_MIN(memory_mib, CLAIM_MIB_MAX);
    c->memory_mib = NM_MIN(c->memory_mib + memory_mib, CLAIM_MIB_MAX);
}

/* If the node was dropped from the table meanwhile, its former memory is unknown. */
void nm_node_rooms_observe(struct nm_node_rooms *all, const char *host, int32_t port, int64_t memory_mib)
{
    struct entry *e = find(all, host, port);

    if (!e)
        return;
    memory_mib = NM_MIN(memory_mib, CLAIM_MIB_MAX);
    e->observed_mib = NM_MAX(e->observed_mib + memory_mib, INT64_C(0));
}

/* ---- questions -------------------------------------------------------------------------------- */

static void on_room(void *userdata, const char *host, int32_t port, int error, const struct nm_peer_room *room)
{
    struct entry *e = find(userdata, host, port);

    if (!e)
        return;
    if (error == 0) {
        e->measured = true;
        e->admits = room->admits;
        e->unused_memory_mib = room->unused_memory_mib;
        e->others_mib = room->observed_mib;
        e->answered_usec = nm_steady_usec();
    }
    if (error == 0 || error == NM_PEER_E_OTHER)
        e->waiting_usec = 0;
}

/* If the node can't be asked at the moment, it is asked again after the usual time. */
static void ask(struct nm_node_rooms *all, struct entry *e, const struct nm_peer_caller *caller, uint64_t now_usec)
{
    struct nm_peer_caller with = *caller;
    const bool due = e->asked_usec == 0 || now_usec - e->asked_usec >= NM_NODE_ROOMS_ASK_USEC;

    if (e->waiting_usec == 0 && (due || !e->measured))
        e->waiting_usec = now_usec;
    if (!due)
        return;
    e->asked_usec = now_usec;
    with.observer = all->observer;
    with.observed_mib = e->observed_mib;
    (void)nm_peers_ask_room(all->peers, &with, e->host, e->port, NULL, 0, on_room, all);
}

static enum nm_yarn_alloc_kind kind_of(const struct nm_node_rooms *all, const struct entry *e)
{
    switch (nm_peers_kind(all->peers, e->host, e->port)) {
    case NM_PEER_NMD:
        return NM_YARN_ALLOC_NMD;
    case NM_PEER_OTHER:
        return NM_YARN_ALLOC_OTHER;
    case NM_PEER_UNKNOWN:
        break;
    }
    return NM_YARN_ALLOC_UNKNOWN;
}

void nm_node_rooms_look_up(struct nm_node_rooms *all, const struct nm_peer_caller *caller, const char *host,
                           int32_t port, struct nm_yarn_alloc_measure *ret)
{
    const uint64_t now = nm_now_usec();
    struct entry *e = find(all, host, port) ?: add(all, host, port);

    if (!e)
        return;
    e->used_usec = now;
    ask(all, e, caller, now);
    *ret = (struct nm_yarn_alloc_measure){
        .kind = kind_of(all, e),
        .awaited = e->waiting_usec > 0 && now - e->waiting_usec < NM_NODE_ROOMS_AWAIT_USEC,
        .measured = e->measured,
        .admits = e->admits,
        .unused_memory_mib = e->unused_memory_mib,
        .at_usec = e->answered_usec,
        .claimed_mib = count_claims(e),
        .observed_mib = e->observed_mib + e->others_mib,
    };
}
