/* SPDX-License-Identifier: Apache-2.0 */

/* See pool.h. */

#include "shuffle/pool.h"

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
    uint64_t begun_usec;
};

struct nm_shuffle_pool {
    void (*run)(struct nm_shuffle_task *task);
    pthread_attr_t attr;
    pthread_mutex_t lock;
    pthread_cond_t submitted, ended;
    TAILQ_HEAD(, nm_shuffle_task) queue;
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
    while (TAILQ_EMPTY(&pool->queue) && !pool->is_closed && r == 0)
        r = pthread_cond_timedwait(&pool->submitted, &pool->lock, &end);
    pool->n_spare--;
    task = TAILQ_FIRST(&pool->queue);
    if (task) {
        TAILQ_REMOVE(&pool->queue, task, by_age);
        pool->n_queued--;
    }
    return task;
}

static void *run_tasks(void *arg)
{
    struct nm_shuffle_pool *pool = arg;
    struct nm_shuffle_task *task;
    struct worker worker;

    pthread_mutex_lock(&pool->lock);
    while ((task = take_locked(pool))) {
        worker.begun_usec = nm_now_usec();
        TAILQ_INSERT_TAIL(&pool->running, &worker, by_age);
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

/* Starts a thread if the waiting ones are not enough for one task more. */
static int ensure_thread_locked(struct nm_shuffle_pool *pool)
{
    int r;

    if (pool->n_spare > pool->n_queued || pool->n_threads >= threads_max(pool))
        return 0;
    r = add_thread_locked(pool);
    return pool->n_threads > 0 ? 0 : r;
}

bool nm_shuffle_pool_relieve(struct nm_shuffle_pool *pool)
{
    const uint64_t now_usec = nm_now_usec();
    const struct worker *w;
    bool waits;

    pthread_mutex_lock(&pool->lock);
    waits = pool->n_queued > 0;
    pool->n_blocked = 0;
    for (w = TAILQ_FIRST(&pool->running); w && now_usec >= w->begun_usec + NM_SHUFFLE_BLOCKED_USEC;
         w = TAILQ_NEXT(w, by_age))
        pool->n_blocked++;
    for (unsigned n = pool->n_spare; n < pool->n_queued && pool->n_threads < threads_max(pool); n++)
        if (add_thread_locked(pool) < 0)
            break;
    pthread_mutex_unlock(&pool->lock);
    return waits;
}

int nm_shuffle_pool_submit(struct nm_shuffle_pool *pool, struct nm_shuffle_task *task)
{
    int r;

    pthread_mutex_lock(&pool->lock);
    r = ensure_thread_locked(pool);
    if (r == 0) {
        TAILQ_INSERT_TAIL(&pool->queue, task, by_age);
        pool->n_queued++;
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
