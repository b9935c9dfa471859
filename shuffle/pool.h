/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Threads that run tasks. The owners of the waiting tasks, for example applications, take turns, and an owner has at
 * most a part of the threads. So one owner can't prevent the tasks of others. The tasks of an owner run in the order
 * of their submission. The first tasks start the threads. A thread that has had no task for half a second ends, so that
 * an idle process has no memory in stacks. Several threads may use a pool.
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

/* Threads that an owner has: three quarters, as many as the CPU time that all owners may use on a node with 16 CPUs
 * (shuffle/share.h). If they are blocked: three eighths, which is also an application's part of the connections. */
#define NM_SHUFFLE_OWNER_THREADS_MAX (NM_SHUFFLE_THREADS_MAX / 4 * 3)
#define NM_SHUFFLE_OWNER_BLOCKED_THREADS_MAX (NM_SHUFFLE_BLOCKED_THREADS_MAX / 8 * 3)

TAILQ_HEAD(nm_shuffle_tasks, nm_shuffle_task);

/* A member of the object that the task is for. The object sets only the owner, before the submission. */
struct nm_shuffle_task {
    uint64_t owner; /* 0: tasks with this owner may have all threads */
    TAILQ_ENTRY(nm_shuffle_task) link;
    struct nm_shuffle_tasks later; /* of the same owner, if this is the owner's first task that waits */
    unsigned n_later;
};

struct nm_shuffle_pool;

/* run: runs a task in a thread of the pool. It may free the task or submit it again. */
int nm_shuffle_pool_new(void (*run)(struct nm_shuffle_task *task), struct nm_shuffle_pool **ret);
/* Runs the queued tasks, and waits until all threads have ended. */
struct nm_shuffle_pool *nm_shuffle_pool_free(struct nm_shuffle_pool *pool);
NM_DEFINE_CLEANUP(struct nm_shuffle_pool *, nm_shuffle_pool_free)

/* Queues a task. Returns -errno if the pool has no thread, and pthread_create() fails to start one. */
int nm_shuffle_pool_submit(struct nm_shuffle_pool *pool, struct nm_shuffle_task *task);

/* Starts a further thread for each blocked one if tasks wait that may run: a slow disk must not stop the tasks that
 * need other disks. Returns whether tasks wait. Call it every NM_SHUFFLE_BLOCKED_USEC while they do. */
bool nm_shuffle_pool_relieve(struct nm_shuffle_pool *pool);

/* Returns whether no task waits, and at most half of the threads run tasks: a task may then wait for a short time. */
bool nm_shuffle_pool_has_room(struct nm_shuffle_pool *pool);
