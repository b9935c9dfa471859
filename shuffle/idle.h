/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Connections that wait for a request. They have no thread: one thread waits for all of them, and starts another one
 * for a connection when bytes arrive. Several threads may add connections; only one thread may call the other
 * functions.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "util/macros.h"

/* A member of the connection. */
struct nm_shuffle_idle_entry {
    int fd;
    bool is_known;          /* the kernel's list has the descriptor */
    bool is_first;          /* no request has arrived yet */
    uint64_t deadline_usec; /* time until which the whole head must have arrived */
    TAILQ_ENTRY(nm_shuffle_idle_entry) by_deadline;
};

struct nm_shuffle_idle;

int nm_shuffle_idle_new(struct nm_shuffle_idle **ret);
/* All entries must have been removed. */
struct nm_shuffle_idle *nm_shuffle_idle_free(struct nm_shuffle_idle *idle);
NM_DEFINE_CLEANUP(struct nm_shuffle_idle *, nm_shuffle_idle_free)

/* Adds a connection, which another thread may serve or end from then on. The deadlines of the entries with the same
 * is_first must be in the order of their addition, or almost so. Returns -ECANCELED after nm_shuffle_idle_close(), else
 * -errno. */
int nm_shuffle_idle_add(struct nm_shuffle_idle *idle, struct nm_shuffle_idle_entry *entry);

/* Returns the descriptor that poll() reports as readable when a connection is ready. */
int nm_shuffle_idle_fd(const struct nm_shuffle_idle *idle);
/* Removes from the list, and returns, a connection from which the server can read a request, or which the client has
 * closed. Returns NULL if there is no such connection. */
struct nm_shuffle_idle_entry *nm_shuffle_idle_ready(struct nm_shuffle_idle *idle);
/* Removes from the list, and returns, a connection whose deadline has passed. Returns NULL if there is no such
 * connection. */
struct nm_shuffle_idle_entry *nm_shuffle_idle_expired(struct nm_shuffle_idle *idle, uint64_t now_usec);
/* Refuses further connections. */
void nm_shuffle_idle_close(struct nm_shuffle_idle *idle);
