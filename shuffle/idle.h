/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Connections that wait: for a request, for a reducer that reads slowly, or for the share of a job. They have no
 * thread: one thread waits for all of them. Several threads may add connections; only one thread may call the other
 * functions.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

/* A member of the connection. */
struct nm_shuffle_idle_entry {
    int fd;
    uint32_t events;        /* what the connection waits for: EPOLLIN, EPOLLOUT, or 0, if only the time counts */
    uint64_t deadline_usec; /* end of the wait */
    bool is_known;          /* the kernel's list has the descriptor */
    uint32_t ready_events;  /* events that have ended the wait */
    size_t place;           /* position among the deadlines */
};

struct nm_shuffle_idle;

int nm_shuffle_idle_new(struct nm_shuffle_idle **ret);
/* All entries must have been removed. */
struct nm_shuffle_idle *nm_shuffle_idle_free(struct nm_shuffle_idle *idle);
NM_DEFINE_CLEANUP(struct nm_shuffle_idle *, nm_shuffle_idle_free)

/* Adds a connection, which another thread may serve or end from then on. Returns -ECANCELED after
 * nm_shuffle_idle_close(), else -errno. */
int nm_shuffle_idle_add(struct nm_shuffle_idle *idle, struct nm_shuffle_idle_entry *entry);

/* Returns the descriptor that poll() reports as readable when a connection is ready, or when another thread has
 * added one whose deadline is before the time that nm_shuffle_idle_next() has returned. */
int nm_shuffle_idle_fd(const struct nm_shuffle_idle *idle);
/* Returns the time of the next deadline, or max_usec if that is earlier. */
uint64_t nm_shuffle_idle_next(struct nm_shuffle_idle *idle, uint64_t max_usec);
/* Removes from the list, and returns, a connection with one of its events, or which the client has closed. Returns
 * NULL if there is no such connection. */
struct nm_shuffle_idle_entry *nm_shuffle_idle_ready(struct nm_shuffle_idle *idle);
/* Removes from the list, and returns, a connection whose deadline has passed, the earliest first. Returns NULL if
 * there is no such connection. */
struct nm_shuffle_idle_entry *nm_shuffle_idle_expired(struct nm_shuffle_idle *idle, uint64_t now_usec);
/* Refuses further connections. */
void nm_shuffle_idle_close(struct nm_shuffle_idle *idle);
