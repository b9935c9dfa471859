/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Threads that run tasks. The users of the waiting tasks take turns, and then the owners of a user, for example
 * applications. An owner, and a user, has at most a part of the threads (shuffle/task-queue.h). So one owner or user
 * can't prevent the tasks of others. The first tasks start the threads. A thread that has had no task for half a second
 * ends, so that an idle process has no memory in stacks. Several threads may use a pool.
 */

#include <stdbool.h>
#include <stdint.h>

#include "shuffle/task-queue.h"
#include "util/macros.h"

/* Time after which a thread that still runs the same task counts as blocked. A task runs for 20 ms otherwise. */
#define NM_SHUFFLE_BLOCKED_USEC UINT64_C(200000)

struct nm_shuffle_pool;

/* run: runs a task in a thread of the pool. It may free the task or submit it again. max_tasks: that may be submitted
 * at the same time. */
int nm_shuffle_pool_new(void (*run)(struct nm_shuffle_task *task), unsigned max_tasks, struct nm_shuffle_pool **ret);
/* Runs the queued tasks, and waits until all threads have ended. */
struct nm_shuffle_pool *nm_shuffle_pool_free(struct nm_shuffle_pool *pool);
NM_DEFINE_CLEANUP(struct nm_shuffle_pool *, nm_shuffle_pool_free)

/* Queues a task. Returns -errno if the pool has no thread, and pthread_create() fails to start one, or -ENOBUFS if
 * there are too many tasks. */
int nm_shuffle_pool_submit(struct nm_shuffle_pool *pool, struct nm_shuffle_task *task);

/* Starts a further thread for each blocked one if tasks wait that may run: a slow disk must not stop the tasks that
 * need other disks. Returns whether tasks wait. Call it every NM_SHUFFLE_BLOCKED_USEC while they do. */
bool nm_shuffle_pool_relieve(struct nm_shuffle_pool *pool);

/* Returns whether no task waits, and at most half of the threads run tasks: a task may then wait for a short time. */
bool nm_shuffle_pool_has_room(struct nm_shuffle_pool *pool);
/* For a task that runs in this thread and has used its time, or has another owner now. Returns true if it may go on as
 * a new task because nm_shuffle_pool_has_room(). Otherwise, it must be submitted again. */
bool nm_shuffle_pool_may_continue(struct nm_shuffle_pool *pool, struct nm_shuffle_task *task);
