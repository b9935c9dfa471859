/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Threads that run tasks, in the order of their submission. The first tasks start the threads. A thread that has had no
 * task for half a second ends, so that an idle process has no memory in stacks. Several threads may use a pool.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "util/macros.h"

#define NM_SHUFFLE_THREADS_MAX 16u
/* Threads if tasks are blocked. A thread that is blocked in a read needs some 100 KiB of memory. */
#define NM_SHUFFLE_BLOCKED_THREADS_MAX 1024u
/* Time after which a thread that still runs the same task counts as blocked. A task runs for 20 ms otherwise. */
#define NM_SHUFFLE_BLOCKED_USEC UINT64_C(200000)

/* A member of the object that the task is for. */
struct nm_shuffle_task {
    TAILQ_ENTRY(nm_shuffle_task) by_age;
};

struct nm_shuffle_pool;

/* run: runs a task in a thread of the pool. It may free the task or submit it again. */
int nm_shuffle_pool_new(void (*run)(struct nm_shuffle_task *task), struct nm_shuffle_pool **ret);
/* Runs the queued tasks, and waits until all threads have ended. */
struct nm_shuffle_pool *nm_shuffle_pool_free(struct nm_shuffle_pool *pool);
NM_DEFINE_CLEANUP(struct nm_shuffle_pool *, nm_shuffle_pool_free)

/* Queues a task. Returns -errno if the pool has no thread, and pthread_create() fails to start one. */
int nm_shuffle_pool_submit(struct nm_shuffle_pool *pool, struct nm_shuffle_task *task);

/* Starts a further thread for each blocked one if tasks wait: a slow disk must not stop the tasks that need other
 * disks. Returns whether tasks wait. Call it every NM_SHUFFLE_BLOCKED_USEC while they do. */
bool nm_shuffle_pool_relieve(struct nm_shuffle_pool *pool);

/* Returns whether no task waits, and at most half of the threads run tasks: a task may then wait for a short time. */
bool nm_shuffle_pool_has_room(struct nm_shuffle_pool *pool);
