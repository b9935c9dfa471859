/* SPDX-License-Identifier: Apache-2.0 */

/* See pool.h. */

#include "shuffle/pool.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "util/clock.h"
#include "util/error.h"

#define SPARE_TIME_NSEC 500000000
/* A task uses some 50 KiB of the stack: a copy of the signed target, and blocks of an index. */
#define STACK_BYTES (256u << 10)

/* A thread that runs a task. */
struct worker {
    TAILQ_ENTRY(worker) by_age;
    uint64_t owner, begun_usec;
    bool is_blocked; /* it seemed blocked at the last look */
};

struct nm_shuffle_pool {
    void (*run)(struct nm_shuffle_task *task);
    pthread_attr_t attr;
    pthread_mutex_t lock;
    pthread_cond_t submitted, ended;
    struct nm_shuffle_tasks queue;         /* the first task of each owner with waiting tasks, in the order of turns */
    TAILQ_HEAD(, worker) running;          /* the task that was begun first is at the front */
    unsigned n_queued, n_threads, n_spare; /* n_spare: threads that wait for a task */
    unsigned n_blocked;                    /* threads that seemed blocked at the last look */
    bool is_closed;
};

int nm_shuffle_pool_new(void (*run)(struct nm_shuffle_task *task), struct nm_shuffle_pool **ret)
{
    struct nm_shuffle_pool *pool = calloc(1, sizeof *pool);
    pthread_condattr_t monotonic;

    if (!pool)
        return -ENOMEM;
    pool->run = run;
    pthread_attr_init(&pool->attr);
    pthread_attr_setstacksize(&pool->attr, STACK_BYTES);
    pthread_attr_setdetachstate(&pool->attr, PTHREAD_CREATE_DETACHED);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->submitted, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_cond_init(&pool->ended, NULL);
    TAILQ_INIT(&pool->queue);
    TAILQ_INIT(&pool->running);
    *ret = pool;
    return 0;
}

struct nm_shuffle_pool *nm_shuffle_pool_free(struct nm_shuffle_pool *pool)
{
    if (!pool)
        return NULL;
    pthread_mutex_lock(&pool->lock);
    pool->is_closed = true;
    pthread_cond_broadcast(&pool->submitted);
    while (pool->n_threads > 0)
        pthread_cond_wait(&pool->ended, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_destroy(&pool->ended);
    pthread_cond_destroy(&pool->submitted);
    pthread_mutex_destroy(&pool->lock);
    pthread_attr_destroy(&pool->attr);
    free(pool);
    return NULL;
}

/* ---- owners ------------------------------------------------------------------------------- */

/* Returns how many threads the owner may have beyond those that it has. */
static unsigned room_locked(const struct nm_shuffle_pool *pool, uint64_t owner)
{
    unsigned n = 0, n_working = 0;
    const struct worker *w;

    if (owner == 0 || pool->is_closed)
        return UINT_MAX;
    TAILQ_FOREACH(w, &pool->running, by_age) {
        n += w->owner == owner;
        n_working += w->owner == owner && !w->is_blocked;
    }
    return NM_MIN((unsigned)nm_sub_u64(NM_SHUFFLE_OWNER_THREADS_MAX, n_working),
                  (unsigned)nm_sub_u64(NM_SHUFFLE_OWNER_BLOCKED_THREADS_MAX, n));
}

static void queue_locked(struct nm_shuffle_pool *pool, struct nm_shuffle_task *task)
{
    struct nm_shuffle_task *first;

    pool->n_queued++;
    TAILQ_FOREACH(first, &pool->queue, link)
        if (first->owner == task->owner) {
            TAILQ_INSERT_TAIL(&first->later, task, link);
            first->n_later++;
            return;
        }
    TAILQ_INIT(&task->later);
    task->n_later = 0;
    TAILQ_INSERT_TAIL(&pool->queue, task, link);
}

/* Returns the first task that may run, or NULL. */
static struct nm_shuffle_task *find_locked(struct nm_shuffle_pool *pool)
{
    struct nm_shuffle_task *task;

    TAILQ_FOREACH(task, &pool->queue, link)
        if (room_locked(pool, task->owner) > 0)
            return task;
    return NULL;
}

/* Removes the first task of an owner, whose next turn is after those of the other owners. */
static void remove_locked(struct nm_shuffle_pool *pool, struct nm_shuffle_task *task)
{
    struct nm_shuffle_task *next = TAILQ_FIRST(&task->later);

    pool->n_queued--;
    TAILQ_REMOVE(&pool->queue, task, link);
    if (!next)
        return;
    TAILQ_REMOVE(&task->later, next, link);
    TAILQ_INIT(&next->later);
    TAILQ_CONCAT(&next->later, &task->later, link);
    next->n_later = task->n_later - 1;
    TAILQ_INSERT_TAIL(&pool->queue, next, link);
}

/* Returns how many of the waiting tasks may run now. */
static unsigned count_locked(const struct nm_shuffle_pool *pool)
{
    const struct nm_shuffle_task *task;
    unsigned n = 0;

    TAILQ_FOREACH(task, &pool->queue, link)
        n += NM_MIN(task->n_later + 1, room_locked(pool, task->owner));
    return n;
}

/* ---- threads ------------------------------------------------------------------------------ */

/* Waits for a task. Returns NULL if the thread must end. */
static struct nm_shuffle_task *take_locked(struct nm_shuffle_pool *pool)
{
    struct nm_shuffle_task *task;
    struct timespec end;
    int r = 0;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += SPARE_TIME_NSEC;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pool->n_spare++;
    while (!(task = find_locked(pool)) && !pool->is_closed && r == 0)
        r = pthread_cond_timedwait(&pool->submitted, &pool->lock, &end);
    pool->n_spare--;
    if (task)
        remove_locked(pool, task);
    return task;
}

/* Begins a task. Another thread may have been told about a task that this one has taken, and the task of an owner that
 * had all its threads may run now. */
static void begin_locked(struct nm_shuffle_pool *pool, struct worker *w, const struct nm_shuffle_task *task)
{
    *w = (struct worker){.owner = task->owner, .begun_usec = nm_now_usec()};
    TAILQ_INSERT_TAIL(&pool->running, w, by_age);
    if (pool->n_spare > 0 && find_locked(pool))
        pthread_cond_signal(&pool->submitted);
}

static void *run_tasks(void *arg)
{
    struct nm_shuffle_pool *pool = arg;
    struct nm_shuffle_task *task;
    struct worker worker;

    pthread_mutex_lock(&pool->lock);
    while ((task = take_locked(pool))) {
        begin_locked(pool, &worker, task);
        pthread_mutex_unlock(&pool->lock);
        pool->run(task);
        pthread_mutex_lock(&pool->lock);
        TAILQ_REMOVE(&pool->running, &worker, by_age);
    }
    if (--pool->n_threads == 0)
        pthread_cond_signal(&pool->ended);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static int add_thread_locked(struct nm_shuffle_pool *pool)
{
    pthread_t thread;
    int r = -pthread_create(&thread, &pool->attr, run_tasks, pool);

    if (r == 0)
        pool->n_threads++;
    return r;
}

/* Each thread that is blocked is replaced. */
static unsigned threads_max(const struct nm_shuffle_pool *pool)
{
    return NM_MIN(NM_SHUFFLE_THREADS_MAX + pool->n_blocked, NM_SHUFFLE_BLOCKED_THREADS_MAX);
}

/* Starts a thread if the waiting ones are not enough for one task more. If the owner has all its threads, one of them
 * takes the task. */
static int ensure_thread_locked(struct nm_shuffle_pool *pool, uint64_t owner)
{
    int r;

    if (pool->n_spare > pool->n_queued || pool->n_threads >= threads_max(pool) || room_locked(pool, owner) == 0)
        return 0;
    r = add_thread_locked(pool);
    return pool->n_threads > 0 ? 0 : r;
}

/* Notes which threads seem blocked. */
static void look_locked(struct nm_shuffle_pool *pool)
{
    const uint64_t now_usec = nm_now_usec();
    struct worker *w;

    pool->n_blocked = 0;
    for (w = TAILQ_FIRST(&pool->running); w && now_usec >= w->begun_usec + NM_SHUFFLE_BLOCKED_USEC;
         w = TAILQ_NEXT(w, by_age)) {
        w->is_blocked = true;
        pool->n_blocked++;
    }
}

bool nm_shuffle_pool_relieve(struct nm_shuffle_pool *pool)
{
    unsigned n_ready;
    bool waits;

    pthread_mutex_lock(&pool->lock);
    look_locked(pool);
    waits = pool->n_queued > 0;
    n_ready = count_locked(pool);
    if (n_ready > 0 && pool->n_spare > 0) /* they may not have been ready before */
        pthread_cond_broadcast(&pool->submitted);
    for (unsigned n = pool->n_spare; n < n_ready && pool->n_threads < threads_max(pool); n++)
        if (add_thread_locked(pool) < 0)
            break;
    pthread_mutex_unlock(&pool->lock);
    return waits;
}

int nm_shuffle_pool_submit(struct nm_shuffle_pool *pool, struct nm_shuffle_task *task)
{
    int r;

    pthread_mutex_lock(&pool->lock);
    r = ensure_thread_locked(pool, task->owner);
    if (r == 0) {
        queue_locked(pool, task);
        pthread_cond_signal(&pool->submitted);
    }
    pthread_mutex_unlock(&pool->lock);
    return r;
}

bool nm_shuffle_pool_has_room(struct nm_shuffle_pool *pool)
{
    bool has;

    pthread_mutex_lock(&pool->lock);
    has = pool->n_queued == 0 && pool->n_threads - pool->n_spare <= NM_SHUFFLE_THREADS_MAX / 2;
    pthread_mutex_unlock(&pool->lock);
    return has;
}
