/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The turns of a connection. It waits in the loop, which has no thread for it. When it is ready, a thread of the pool
 * answers its requests. A thread that has nothing to do keeps the connection for a short time.
 */

#include "shuffle/idle.h"
#include "shuffle/pool.h"
#include "shuffle/wait.h"

struct nm_shuffle_turns;

/* What all connections of a server share. */
struct nm_shuffle_loop {
    struct nm_shuffle_idle *idle;
    struct nm_shuffle_pool *pool;
    /* Answers requests, in a thread of the pool. Returns NM_SHUFFLE_E_WAIT with *ret_wait, NM_SHUFFLE_E_TURN, or a
     * result that ends the connection. */
    int (*answer)(struct nm_shuffle_turns *t, struct nm_shuffle_wait *ret_wait);
    /* Ends a connection that is neither in the loop nor in the pool. result: that of answer(), or -errno. */
    void (*end)(struct nm_shuffle_turns *t, int result);
};

/* A member of the connection. */
struct nm_shuffle_turns {
    const struct nm_shuffle_loop *loop;
    struct nm_shuffle_idle_entry idle; /* the descriptor is set by the connection */
    struct nm_shuffle_task task;
};

/* Returns the connection to the loop. Another thread may serve or end it from then on. Returns -errno if the connection
 * was ended instead. */
int nm_shuffle_turns_wait(struct nm_shuffle_turns *t, const struct nm_shuffle_wait *wait);
/* Passes the connection to the pool, or ends it. */
void nm_shuffle_turns_submit(struct nm_shuffle_turns *t);
/* The function of the pool. */
void nm_shuffle_turns_serve(struct nm_shuffle_task *task);
