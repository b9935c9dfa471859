/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of the stage that lends. A master's asks, the ResourceManager's answers, and what each of both sees are
 * texts or small tables. Calls to other nodes and to the ResourceManager's port for clients are recorded, and a test
 * gives the results. A test can put the clock forward.
 */

#include "fail-nth.h"
#include "proxy-fixture.h"
#include "yarn/proxy/lend-stage.h"

#define LEND_LIST_MAX 600u

/* A ResourceRequest of the master. */
struct lend_ask {
    int32_t priority, count;
    int64_t id, memory; /* memory 0: 512 */
    const char *where, *label, *other; /* where NULL: "*"; other: the name of another resource */
    bool opportunistic, strict;
};

/* A container in the ResourceManager's answer. */
struct lend_container {
    int64_t number;
    int32_t priority, version;
    bool opportunistic;
    const char *host;  /* NULL: TOKENS_HOST */
    int64_t id, memory; /* memory 0: 512; id 0: -1 */
    int32_t attempt;   /* 0: that of the call's master */
    int32_t update;    /* of an updated one, its ContainerUpdateType; 0: promotion */
};

struct lend_end {
    int64_t number;
    int32_t status;
    const char *diagnostics;
    int32_t attempt; /* 0: that of the call's master */
};

struct lend_error {
    int64_t number;
    const char *reason;
    int32_t type; /* 2: promotion */
    int32_t current_version; /* 0: the error doesn't say it */
};

/* A request of the master to update a container. */
struct lend_resize {
    int64_t number;
    int32_t version;
    int32_t attempt; /* 0: the present one */
    int32_t type;    /* 0: another size; 2, 3: promotion, demotion */
};

/* A request with a placement constraint, for containers of 512 MiB. */
struct lend_placement {
    int32_t priority, count;
    int64_t id;
    bool opportunistic, damaged;
};

struct lend_fixture {
    struct fixture w; /* first member */
    int32_t attempt, response_id;
    /* the master's next call */
    struct lend_ask asks[LEND_LIST_MAX];
    struct lend_resize resizes[8];
    struct lend_placement placements[8];
    size_t n_asks, n_resizes, n_placements;
    /* the next answer; each call to the ResourceManager that isn't refused uses it up, except while `repeats` */
    struct lend_container granted[LEND_LIST_MAX], previous[LEND_LIST_MAX], updated[8];
    struct lend_end ended[8];
    struct lend_error errors[8];
    struct lend_placement rejected[8];
    size_t n_granted, n_previous, n_updated, n_ended, n_errors, n_rejected;
    int64_t headroom; /* memory in MiB that the answer reports as free for the queue; -1: the answer reports none */
    bool headroom_has_no_vcores;
    const char *queue;
    bool labelled; /* the application has a node label */
    /* Tells whether the node reports this container as guaranteed; NULL: the node reports none. */
    bool (*has_guaranteed)(struct lend_fixture *l, int64_t number);
    int resource_types; /* what the registration's answer lists: 0: nothing, 1: memory, 2: memory and CPU */
    bool repeats;
    /* Prepares the answer to a call that the ResourceManager reads. May be NULL. */
    void (*on_call)(struct lend_fixture *l, const Masters__AllocateRequest *request);
    bool decides; /* on_call is called for each call, and sets w.refuses */
    /* what the ResourceManager and the master have seen last */
    char sent[40000], seen[40000];
    struct nm_lender *lender; /* the stage of the newest attempt */
    /* calls to others */
    unsigned type_questions, room_questions, updates, forgotten;
    char asked_host[256], updated_host[256], updated_token[64];
    int64_t asked_numbers[8], updated_number;
    size_t n_asked;
    int refuses_calls; /* result of the functions that call others; 0: the call is in progress */
};

extern unsigned lend_walks; /* number of calls of nm_lend_each_key() */

/* rule: the value of nmd.lending. The type of all applications is MAPREDUCE, and known at once. */
void lend_set_up(struct lend_fixture *l, bool distributed, const char *rule);
void lend_tear_down(struct lend_fixture *l);
/* Starts and registers a master. */
void lend_launch(struct lend_fixture *l, int32_t attempt);
void lend_register(struct lend_fixture *l);
/* Adds an ask to the master's next call. */
void lend_ask(struct lend_fixture *l, struct lend_ask ask);
void lend_want(struct lend_fixture *l, int32_t priority, int32_t count); /* asks for "*" */
/* Makes an allocate call. Returns what the ResourceManager got: "20 G * 3, 20 O * 1; releases 5; resizes 6/0; promotes
 * 7/0; placements 2", with the versions of the containers.  * lend_call_again() repeats the last response id. */
void lend_begin_call(struct lend_fixture *l); /* does not wait for the answer */
const char *lend_call(struct lend_fixture *l);
const char *lend_call_again(struct lend_fixture *l);
/* What the master has seen in the answer: "5 G; ended 3 -102 G text; previous 4 G; updated 6; errors 7; rejected 1". */
const char *lend_seen(struct lend_fixture *l);
/* What it has seen of earlier attempts in the answer to its registration: "4 G". */
const char *lend_seen_previous(struct lend_fixture *l);
struct nm_lend_figures lend_figures(const struct lend_fixture *l);
/* Add to the next answer. */
void lend_grant(struct lend_fixture *l, int64_t number, bool opportunistic);
void lend_end(struct lend_fixture *l, int64_t number, int32_t status, const char *diagnostics);
/* Opens the stage again from its last saved state, as a killed and restarted nmd does. */
void lend_restart(struct lend_fixture *l);

/* Results of calls to others. */
void lend_tell_type(struct lend_fixture *l, const char *type);
void lend_tell_room(struct lend_fixture *l, const char *host, int64_t memory_mib, bool running);
/* The containers of the node run. The node answers the question, and the next one in the same way, which confirms the
 * room. */
void lend_confirm_room(struct lend_fixture *l, const char *host, int64_t memory_mib);
void lend_tell_unknown(struct lend_fixture *l, const char *host); /* the node knows none of the containers */
bool lend_has_room_question(const struct lend_fixture *l);
void lend_tell_update(struct lend_fixture *l, int error);
bool lend_has_update(const struct lend_fixture *l);
/* Runs the loop until `*counter` has at least this value. */
void lend_run_until(struct lend_fixture *l, const unsigned *counter, unsigned value);
void lend_put_clock_forward(uint64_t usec);
