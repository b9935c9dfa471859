/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A model of a ResourceManager for the random histories of test-yarn-lend-property.c, and the state of such a
 * history. */

#include <stdio.h>
#include <stdlib.h>

#include "yarn/lend/lend.h"

#define N_KEYS 4
#define N_SIZES 2
#define N_HOSTS 3
#define CALLS 100
#define GRANTS_MAX 64
#define CONTAINERS_MAX 8192
#define SECONDS(n) ((n) * NM_USEC_PER_SEC)

extern const struct nm_lend_key model_keys[N_KEYS];
extern const struct nm_lend_size model_sizes[N_SIZES];

struct container {
    int key, host;
    struct nm_lend_size size;
    bool opportunistic;
    enum nm_lend_verdict verdict;
    bool was_lent, lent; /* lent: now */
    bool running, queued, promoting; /* promoting: the ResourceManager knows of it */
    uint64_t lent_usec;
    bool lost; /* the restarted ResourceManager and the node don't know it */
    uint64_t lost_usec; /* when the node said so first */
};

struct message {
    int key, size;
    int32_t count;
    bool opportunistic;
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
    int32_t guaranteed[N_KEYS], opportunistic[N_KEYS][N_SIZES];
    int size[N_KEYS]; /* of the guaranteed ask */
    int pending[GRANTS_MAX]; /* allocated, for the next answer */
    size_t n_pending;
    bool has_answer;
    struct answer answer; /* the last one, which is repeated if its call is repeated */
};

struct master {
    int32_t needs[N_KEYS]; /* what it waits for, as far as it knows */
    int size[N_KEYS];
    bool labelled[N_KEYS], must_ask[N_KEYS];
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
    struct nm_lend *l;
    struct nm_lend_rule rule;
    struct nm_lend_limits limits;
    bool has_limits;       /* the books know those of the last plan */
    int64_t lendable_mib;  /* of that plan: lent, asked for, and left in the queue */
    int64_t startable_mib; /* on all nodes, if limits.startable is set */
    struct resource_manager rm;
    struct master m;
    /* What the master still waits for, counted by what it was shown; how many more it may be shown, because the
     * ResourceManager had granted them when it read the master's count; whether it has read it. */
    int32_t waits[N_KEYS], surplus[N_KEYS];
    bool unread[N_KEYS];
    bool touched[N_KEYS]; /* a plan was allowed to lend; before that, the asks are those without lending */
    struct master answered; /* the master, waits and unread after the last answer that the master got */
    int32_t waits_answered[N_KEYS];
    bool unread_answered[N_KEYS];
    bool unsettled;         /* the ResourceManager hasn't read that call, but has repeated an answer */
    int32_t unseen[N_KEYS]; /* shown in an answer that the master hasn't got */
    int32_t handled_id; /* of the answer that was handled last */
    bool restarted;     /* since then */
    struct room rooms[N_HOSTS][N_ROOMS]; /* the last answers of each node, the newest first */
    struct container containers[CONTAINERS_MAX];
    int n_containers;
    struct message messages[16 * N_KEYS];
    size_t n_messages;
    int promotions[N_HOSTS];
    size_t n_promotions;
};

#define CHECK(w, condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "seed %llu: %s:%d: %s\n", (unsigned long long)(w)->seed, __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

uint64_t random_number(struct fixture *w, uint64_t below);
bool one_in(struct fixture *w, uint64_t n);
int random_int(struct fixture *w, int below);

/* Reads the messages of a call of the master, and returns the answer. Repeats its last answer if the call has the same
 * response id. */
const struct answer *model_answer_call(struct fixture *w);
/* Refuses the call. The ResourceManager may have read opportunistic asks before. Must not be called if it would repeat
 * its last answer. */
void model_refuse_call(struct fixture *w);
/* Allocates guaranteed containers, as nodes send their heartbeats between the calls of the master. */
void model_allocate(struct fixture *w);
/* Forgets asks and promotions. */
void model_restart(struct fixture *w);
/* Returns how many containers of a key it would grant. */
int32_t model_asked(const struct fixture *w, int key);
