/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A model of a ResourceManager for the random histories of test-yarn-lend-property.c, and the state of such a
 * history. A history has four keys, or more than the books have places for. */

#include <stdio.h>
#include <stdlib.h>

#include "yarn/lend/lend.h"

#define N_KEYS_MAX 400 /* more than the books have places for */
#define N_FEW_KEYS 4
#define N_SIZES 2
#define N_HOSTS 3
#define CALLS 100
#define GRANTS_MAX 64
#define CONTAINERS_MAX 65536
#define ATTEMPTS_MAX 128
#define SECONDS(n) ((n) * NM_USEC_PER_SEC)

extern const struct nm_lend_size model_sizes[N_SIZES];

struct container {
    int key, host, attempt;
    struct nm_lend_size size;
    bool opportunistic, own; /* own: the master itself has asked for an opportunistic container */
    enum nm_lend_verdict verdict;
    bool counted; /* by the books */
    bool was_lent, lent; /* lent: now */
    bool taken_over;     /* lent to an earlier attempt; a later answer tells this attempt of it */
    bool running, queued, promoting; /* promoting: the ResourceManager knows of it */
    uint64_t lent_usec;
    bool unapplied;    /* promoted, and its node isn't known to have the promotion */
    bool on_node;   /* lent again, although its node has the promotion */
    bool demoted;   /* by its master */
    bool lost; /* the restarted ResourceManager and the node don't know it */
    uint64_t lost_usec; /* when the node said so first */
};

struct message {
    int key, size;
    int32_t count;
    bool opportunistic, own; /* own: the master's own ask, which the books don't change */
};

struct answer {
    int32_t id;
    int granted[GRANTS_MAX], ended[GRANTS_MAX], promoted[GRANTS_MAX], refused[GRANTS_MAX];
    bool preempted[GRANTS_MAX];
    size_t n_granted, n_ended, n_promoted, n_refused;
};

struct resource_manager {
    bool one_table; /* no opportunistic allocation: an opportunistic ask replaces the guaranteed one of its key */
    bool guaranteed_room, opportunistic_room;
    int32_t guaranteed[N_KEYS_MAX], opportunistic[N_KEYS_MAX][N_SIZES];
    int size[N_KEYS_MAX]; /* of the guaranteed ask */
    /* It has read an opportunistic ask of the master; the counts that it would have without lending. */
    bool has_own[N_KEYS_MAX];
    int32_t own[N_KEYS_MAX][N_SIZES];
    int pending[GRANTS_MAX]; /* allocated, for the next answer */
    size_t n_pending;
    bool has_answer;
    struct answer answer; /* the last one, which is repeated if its call is repeated */
};

struct master {
    int32_t needs[N_KEYS_MAX]; /* what it waits for, as far as it knows */
    int size[N_KEYS_MAX];
    bool labelled[N_KEYS_MAX], must_ask[N_KEYS_MAX];
    bool asks_own[N_KEYS_MAX]; /* with this call; own: opportunistic containers, as it counts them */
    int32_t own[N_KEYS_MAX];
    bool has_asked_own[N_KEYS_MAX]; /* since its registration */
    bool corrects; /* sends counts again after grants */
    int32_t id;    /* response id of its next call */
};

struct room {
    uint64_t at_usec;
    int64_t memory_mib;
};

#define N_ROOMS 8

struct fixture {
    uint64_t seed, random, now_usec;
    int n_keys;
    struct nm_lend *l;
    struct nm_lend *former;  /* the books of the earlier attempts on this node; NULL: there were none */
    int attempt, first[ATTEMPTS_MAX]; /* the present attempt, and the first container of each */
    uint64_t granted_before, shown; /* lent by the books of earlier attempts; lent in this history */
    struct nm_lend_rule rule;
    struct nm_lend_limits limits;
    bool has_limits;       /* the books know those of the last plan */
    int64_t lendable_mib;  /* of that plan: lent, asked for, and left in the queue */
    int64_t startable_mib; /* on all nodes, if limits.startable is set */
    struct resource_manager rm;
    struct master m;
    /* What the master still waits for, counted by what it was shown; how many more it may be shown, because the
     * ResourceManager had granted them when it read the master's count; whether it has read it. */
    int32_t waits[N_KEYS_MAX], surplus[N_KEYS_MAX];
    bool unread[N_KEYS_MAX];
    /* The first opportunistic ask of the master was in a call without an answer, so the books can't know whether the
     * ResourceManager has read it; or in a refused call of which it has read this ask. */
    bool unclear[N_KEYS_MAX];
    bool has_lost_call; /* since the last answer that the master got; or nmd was restarted */
    bool touched[N_KEYS_MAX]; /* a plan was allowed to lend; before that, the asks are those without lending */
    struct master answered; /* the master, waits and unread after the last answer that the master got */
    int32_t waits_answered[N_KEYS_MAX];
    bool unread_answered[N_KEYS_MAX];
    bool unsettled;         /* the ResourceManager hasn't read that call, but has repeated an answer */
    int32_t unseen[N_KEYS_MAX]; /* shown in an answer that the master hasn't got */
    int32_t handled_id; /* of the answer that was handled last */
    bool restarted;     /* since then */
    struct room rooms[N_HOSTS][N_ROOMS]; /* the last answers of each node, the newest first */
    bool is_dead[N_HOSTS];
    uint64_t unanswered_usec[N_HOSTS]; /* when nmd first asked the node after its last answer; 0: no question waits */
    struct container containers[CONTAINERS_MAX];
    int n_containers;
    struct message messages[6 * N_KEYS_MAX];
    size_t n_messages;
    int promotions[N_HOSTS];
    size_t n_promotions;
    struct nm_lend_key_view views[N_KEYS_MAX]; /* of the books when they were read last */
    bool has_place[N_KEYS_MAX];                /* the books have a place for this key */
};

extern struct totals {
    uint64_t calls, shown, released, guaranteed, promoted, restarts, lost, repeated, registrations, refused, given_up,
        exceeding, rejected, own, attempts, adopted, left_out, evicted, lent_again, demoted, unresponsive;
} totals;

#define CHECK(w, condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "seed %llu: %s:%d: %s\n", (unsigned long long)(w)->seed, __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

struct nm_lend_key model_key(int key);
int model_key_index(const struct nm_lend_key *key);
struct nm_yarn_container_id model_id(const struct fixture *w, int c);
int model_index(const struct fixture *w, const struct nm_yarn_container_id *id);

uint64_t random_number(struct fixture *w, uint64_t below);
bool one_in(struct fixture *w, uint64_t n);
int random_int(struct fixture *w, int below);

/* Reads the messages of a call of the master, and returns the answer. Repeats its last answer if the call has the same
 * response id. */
const struct answer *model_answer_call(struct fixture *w);
/* Refuses the call. Returns whether the ResourceManager has read opportunistic asks before. Must not be called if it
 * would repeat its last answer. */
bool model_refuse_call(struct fixture *w);
/* Allocates guaranteed containers, as nodes send their heartbeats between the calls of the master. */
void model_allocate(struct fixture *w);
/* Forgets asks, containers that the master hasn't got yet, and promotions. */
void model_restart(struct fixture *w);
/* Returns how many containers of a key it would grant. */
int32_t model_asked(const struct fixture *w, int key);

/* ---- lend-model-books.c ----------------------------------------------------------------------- */

extern const char *const model_hosts[N_HOSTS];
/* Reads what the books say of the keys. */
void books_read_views(struct fixture *w);
/* Reads it, and compares the figures with those of the model. */
void books_check_figures(struct fixture *w);
/* Restarts nmd. */
void books_restart(struct fixture *w);
/* Begins the next attempt of the application, on the same node or on another one. It has the containers of earlier
 * attempts that live. The ResourceManager tells it of some with the registration, and of the others later. */
void books_begin_attempt(struct fixture *w);
/* Tells the books of further containers of earlier attempts. */
void books_take_over(struct fixture *w);
/* Forgets what the master asks for, because it registers. */
void books_forget_asks(struct fixture *w);
/* Asks the nodes that are due. */
void books_ask_nodes(struct fixture *w);
/* The node of a promoted container has got the promotion. After a registration, it says so of a container that is lent
 * again. Returns whether there is nothing else to say of the container. */
bool books_tell_of_promotion(struct fixture *w, struct container *c, const struct nm_yarn_container_id *id);
/* The master demotes some of its containers, which it takes for guaranteed. */
void books_demote(struct fixture *w);
/* The ResourceManager was restarted. Promotions that the nodes aren't known to have are lost, except those that some
 * nodes have got nevertheless. */
void books_lend_again(struct fixture *w);
