/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The tasks of a pool that wait for a thread, and the number of those that run. Users take turns, and in a turn of a
 * user, its owners take turns, for example applications. So neither an owner with many tasks nor a user with many
 * owners delays others for long. The tasks of an owner run in the order of their submission.
 *
 * An owner has at most a part of the threads, and a user a larger part. A thread that is blocked doesn't count for the
 * first of the two limits, because the pool replaces it.
 *
 * All functions take a time that doesn't depend on the number of tasks, except nm_shuffle_queue_ready(), and only
 * nm_shuffle_queue_new() allocates memory. The caller protects a queue with a lock.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "util/macros.h"

#define NM_SHUFFLE_THREADS_MAX 16u
/* Threads if tasks are blocked. A thread that is blocked in a read needs some 100 KiB of memory. */
#define NM_SHUFFLE_BLOCKED_THREADS_MAX 1024u

/* Threads that an owner has: three quarters, as many as the CPU time that all owners may use on a node with 16 CPUs
 * (shuffle/share.h). If they are blocked: three eighths, which is also an application's part of the connections. */
#define NM_SHUFFLE_OWNER_THREADS_MAX (NM_SHUFFLE_THREADS_MAX / 4 * 3)
#define NM_SHUFFLE_OWNER_BLOCKED_THREADS_MAX (NM_SHUFFLE_BLOCKED_THREADS_MAX / 8 * 3)
/* Threads that the owners of a user have together. Many nodes have only one user, so these leave little to others. */
#define NM_SHUFFLE_USER_THREADS_MAX (NM_SHUFFLE_THREADS_MAX / 8 * 7)
#define NM_SHUFFLE_USER_BLOCKED_THREADS_MAX (NM_SHUFFLE_BLOCKED_THREADS_MAX / 4 * 3)

/* Who pays for a task. Clients that have not shown yet which job or application they belong to have one user together,
 * so that they have one turn, however many hosts they use. */
struct nm_shuffle_owner {
    uint64_t user; /* NM_SHUFFLE_GUESTS, or a number of the user */
    uint64_t id;   /* of the job, the application or the host; not 0 */
};
#define NM_SHUFFLE_GUESTS UINT64_C(0)

/* Returns the owner for a job or application with this number. */
struct nm_shuffle_owner nm_shuffle_owner_of(const char *user, uint64_t id);
bool nm_shuffle_owner_equal(struct nm_shuffle_owner a, struct nm_shuffle_owner b);

struct nm_shuffle_holder; /* a user or an owner with tasks */
struct nm_shuffle_worker; /* of shuffle/pool.c */

TAILQ_HEAD(nm_shuffle_tasks, nm_shuffle_task);

/* A member of the object that the task is for. The object sets only the owner, before the submission. */
struct nm_shuffle_task {
    struct nm_shuffle_owner owner;
    struct nm_shuffle_worker *worker; /* that runs the task */
    TAILQ_ENTRY(nm_shuffle_task) link;
};

struct nm_shuffle_queue;

/* max: tasks that may wait or run at the same time. */
int nm_shuffle_queue_new(unsigned max, struct nm_shuffle_queue **ret);
/* No task may wait or run. */
struct nm_shuffle_queue *nm_shuffle_queue_free(struct nm_shuffle_queue *q);
NM_DEFINE_CLEANUP(struct nm_shuffle_queue *, nm_shuffle_queue_free)

/* Adds a task. Returns -ENOBUFS if there are too many. */
int nm_shuffle_queue_put(struct nm_shuffle_queue *q, struct nm_shuffle_task *task);
/* Removes the task whose turn it is, and counts it as running. Returns NULL if no task may run. *ret_holder: for the
 * functions below, which may be called when the task is freed. */
struct nm_shuffle_task *nm_shuffle_queue_take(struct nm_shuffle_queue *q, struct nm_shuffle_holder **ret_holder);
/* Notes that the thread of a running task is blocked. */
void nm_shuffle_queue_block(struct nm_shuffle_queue *q, struct nm_shuffle_holder *holder);
/* Ends a running task. was_blocked: nm_shuffle_queue_block() was called for it. */
void nm_shuffle_queue_end(struct nm_shuffle_queue *q, struct nm_shuffle_holder *holder, bool was_blocked);
/* Counts a running task for another owner from now on, beyond the limits if necessary. Returns the holder of this owner
 * in the place of the former one. */
struct nm_shuffle_holder *nm_shuffle_queue_move(struct nm_shuffle_queue *q, struct nm_shuffle_holder *holder,
                                                bool was_blocked, struct nm_shuffle_owner owner);

/* Returns whether a new task of the owner may run. */
bool nm_shuffle_queue_may_run(const struct nm_shuffle_queue *q, struct nm_shuffle_owner owner);
/* Returns whether a waiting task may run. */
bool nm_shuffle_queue_is_ready(const struct nm_shuffle_queue *q);
/* Returns how many waiting tasks may run, all of them together. */
unsigned nm_shuffle_queue_ready(const struct nm_shuffle_queue *q);
unsigned nm_shuffle_queue_waiting(const struct nm_shuffle_queue *q);
