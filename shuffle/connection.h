/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One connection of a reducer. The loop's thread calls the functions below; it waits for all connections, and reads
 * their requests. A thread of the pool has a connection only from the arrival of a whole request to the end of the
 * answer, and not while the reducer doesn't read, or while its job has no share left. The memory of a connection is
 * freed when it ends.
 */

#include "shuffle/answer.h"
#include "shuffle/idle.h"
#include "shuffle/pool.h"

/* What all connections share. */
struct nm_shuffle_loop {
    struct nm_shuffle_service *service;
    struct nm_shuffle_idle *idle;
    struct nm_shuffle_pool *pool;
};

/* Begins a connection from this host, and takes ownership of the accepted descriptor in all cases; it must not
 * block. The connection gets a slot, which limits the cost of unauthenticated clients. Returns -EBUSY if there is no
 * slot, -ECANCELED if the server stops, else -errno. */
int nm_shuffle_connection_begin(const struct nm_shuffle_loop *loop, int accepted, const char *host);

/* Continues a connection that nm_shuffle_idle_ready() or nm_shuffle_idle_expired() has returned. */
void nm_shuffle_connection_ready(struct nm_shuffle_idle_entry *entry);
void nm_shuffle_connection_expired(struct nm_shuffle_idle_entry *entry);
/* Ends a connection that nm_shuffle_idle_expired() has returned. */
void nm_shuffle_connection_end(struct nm_shuffle_idle_entry *entry);

/* The function of the pool. */
void nm_shuffle_connection_serve(struct nm_shuffle_task *task);
