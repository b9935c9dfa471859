/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The books of lending of one application master, and the calls of this master. Asks are for containers of 1024 MiB
 * and one vcore, at priority 20 unless a test says otherwise. Include it after cmocka.h.
 */

#include "yarn/lend/lend.h"

#define SECONDS(n) ((n) * NM_USEC_PER_SEC)
#define MINUTES(n) SECONDS(60 * (n))

struct fixture {
    struct nm_lend *l;
    struct nm_lend_limits limits;
    uint64_t now_usec;
    int32_t response_id;
    int32_t priority; /* the last one that was asked for */
    const struct nm_lend_change *changes; /* those of the last call */
    size_t n;
};

extern const struct nm_lend_key twenty;

int lend_fixture_set_up(void **state);
/* Also lends the containers 1 and 2 on host "one" and 3 on host "two". All of them run. */
int lend_fixture_set_up_running(void **state);
int lend_fixture_tear_down(void **state);

void set_mode(struct fixture *w, enum nm_lend_mode mode);
void set_overflow(struct fixture *w, uint64_t seconds);
void set_percent(struct fixture *w, unsigned percent);

/* Return an ask for "*", which a test may change, and note one or more asks of the next call. */
struct nm_lend_ask ask_of(int32_t priority, int32_t count);
void note(struct fixture *w, struct nm_lend_ask ask);
void note_count(struct fixture *w, int32_t count);

/* Makes the plan of a call. */
void call(struct fixture *w);
/* Makes the plan of a call, and checks that it has no change, or one change with these counts for priority 20.
 * opportunistic -1: this count isn't sent. */
void expect_no_change(struct fixture *w);
void expect_change(struct fixture *w, int32_t guaranteed, int32_t opportunistic);
/* Begins the answer of a call. The containers that were granted follow. */
void answer(struct fixture *w);
/* Makes a call with this count, which is answered without containers. */
void ask(struct fixture *w, int32_t count);

/* The container with this number, at priority 20 on host "one". */
struct nm_yarn_container_id id_of(int64_t number);
struct nm_lend_grant opportunistic(int64_t number);
struct nm_lend_grant guaranteed(int64_t number);
enum nm_lend_verdict grant(struct fixture *w, struct nm_lend_grant g);
/* Asks for n containers, and lends those with the numbers 1 to n. */
void lend(struct fixture *w, int32_t n);

/* Its node says that the container runs, or waits in the queue. */
void set_running(struct fixture *w, int64_t number, bool running);
/* The ResourceManager has promoted the container (version 1), or refuses to. */
bool promoted(struct fixture *w, int64_t number);
bool refused(struct fixture *w, int64_t number, bool outstanding);
bool is_lent(const struct fixture *w, int64_t number);
/* Fails the test if the books don't know the container. */
struct nm_lend_history history_of(const struct fixture *w, int64_t number);

struct nm_lend_key_view view_of(const struct fixture *w, int32_t priority);
enum nm_lend_reason reason_of(const struct fixture *w);
struct nm_lend_figures figures(const struct fixture *w);
/* Packs the books, and continues with restored ones, which must be equal. */
void restart(struct fixture *w);
