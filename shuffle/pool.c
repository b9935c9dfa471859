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
struct nm_shuffle_worker {
    TAILQ_ENTRY(nm_shuffle_worker) by_age;
    struct nm_shuffle_owner owner;
    struct nm_shuffle_holder *holder; /* of the owner */
    uint64_t begun_usec;
    bool is_blocked; /* it seemed blocked at the last look */
};

TAILQ_HEAD(workers, nm_shuffle_worker);

struct nm_shuffle_pool {
    void (*run)(struct nm_shuffle_task *task);
    pthread_attr_t attr;
    pthread_mutex_t lock;
    pthread_cond_t submitted, ended;
    struct nm_shuffle_queue *queue;
    struct workers running;      /* the task that was begun first is at the front */
    unsigned n_threads, n_spare; /* n_spare: threads that wait for a task */
    unsigned n_blocked;          /* threads that seemed blocked at the last look, and still run the same task */
    bool is_closed;
};

/* A task that has ended counts until its thread has noted the end, and another one may have taken its place before. */
int nm_shuffle_pool_new(void (*run)(struct nm_shuffle_task *task), unsigned max_tasks, struct nm_shuffle_pool **ret)
{
    _cleanup_free_ struct nm_shuffle_pool *pool = calloc(1, sizeof *pool);
    pthread_condattr_t monotonic;
    int r;

    if (!pool)
        return -ENOMEM;
    if ((r = nm_shuffle_queue_new(max_tasks + NM_SHUFFLE_BLOCKED_THREADS_MAX, &pool->queue)) < 0)
        return r;
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
    TAILQ_INIT(&pool->running);
    *ret = STEAL_PTR(pool);
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
    nm_shuffle_queue_free(pool->queue);
    free(pool);
    return NULL;
}

/* ---- threads ------------------------------------------------------------------------------ */

/* Begins a task. Another thread may have been told about a task that this one has taken, and the task of an owner that
 * had all its threads may run now. */
static void begin_locked(struct nm_shuffle_pool *pool, struct nm_shuffle_worker *w, struct nm_shuffle_task *task)
{
    w->owner = task->owner;
    w->begun_usec = nm_now_usec();
    w->is_blocked = false;
    task->worker = w;
    TAILQ_INSERT_TAIL(&pool->running, w, by_age);
    if (pool->n_spare > 0 && nm_shuffle_queue_is_ready(pool->queue))
        pthread_cond_signal(&pool->submitted);
}

/* Waits for a task, and begins it. Returns NULL if the thread must end. If the pool is closed and the tasks that wait
 * may not run, the threads of their owners and users run them later. */
static struct nm_shuffle_task *take_locked(struct nm_shuffle_pool *pool, struct nm_shuffle_worker *w)
{
    struct nm_shuffle_task *task;
    struct timespec end;
    int r = 0;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += SPARE_TIME_NSEC;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pool->n_spare++;
    while (!(task = nm_shuffle_queue_take(pool->queue, &w->holder)) && !pool->is_closed && r == 0)
        r = pthread_cond_timedwait(&pool->submitted, &pool->lock, &end);
    pool->n_spare--;
    if (task)
        begin_locked(pool, w, task);
    return task;
}

static void remove_locked(struct nm_shuffle_pool *pool, struct nm_shuffle_worker *w)
{
    TAILQ_REMOVE(&pool->running, w, by_age);
    pool->n_blocked -= w->is_blocked;
}

static void *run_tasks(void *arg)
{
    struct nm_shuffle_pool *pool = arg;
    struct nm_shuffle_task *task;
    struct nm_shuffle_worker worker;

    pthread_mutex_lock(&pool->lock);
    while ((task = take_locked(pool, &worker))) {
        pthread_mutex_unlock(&pool->lock);
        pool->run(task);
        pthread_mutex_lock(&pool->lock);
        remove_locked(pool, &worker);
        nm_shuffle_queue_end(pool->queue, worker.holder, worker.is_blocked);
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

/* Starts a thread if the waiting ones are not enough for one task more. If the owner or the user has all its threads,
 * one of them takes the task. */
static int ensure_thread_locked(struct nm_shuffle_pool *pool, struct nm_shuffle_owner owner)
{
    int r;

    if (pool->n_spare > nm_shuffle_queue_waiting(pool->queue) || pool->n_threads >= threads_max(pool) ||
        !nm_shuffle_queue_may_run(pool->queue, owner))
        return 0;
    r = add_thread_locked(pool);
    return pool->n_threads > 0 ? 0 : r;
}

/* Notes which threads seem blocked. */
static void look_locked(struct nm_shuffle_pool *pool)
{
    const uint64_t now_usec = nm_now_usec();
    struct nm_shuffle_worker *w;

    for (w = TAILQ_FIRST(&pool->running); w && now_usec >= w->begun_usec + NM_SHUFFLE_BLOCKED_USEC;
         w = TAILQ_NEXT(w, by_age)) {
        if (w->is_blocked)
            continue;
        w->is_blocked = true;
        pool->n_blocked++;
        nm_shuffle_queue_block(pool->queue, w->holder);
    }
}

bool nm_shuffle_pool_relieve(struct nm_shuffle_pool *pool)
{
    unsigned n_ready;
    bool waits;

    pthread_mutex_lock(&pool->lock);
    look_locked(pool);
    waits = nm_shuffle_queue_waiting(pool->queue) > 0;
    n_ready = nm_shuffle_queue_ready(pool->queue);
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
    if (r == 0 && (r = nm_shuffle_queue_put(pool->queue, task)) == 0)
        pthread_cond_signal(&pool->submitted);
    pthread_mutex_unlock(&pool->lock);
    return r;
}

static bool has_room_locked(const struct nm_shuffle_pool *pool)
{
    return nm_shuffle_queue_waiting(pool->queue) == 0 &&
           pool->n_threads - pool->n_spare <= NM_SHUFFLE_THREADS_MAX / 2;
}

bool nm_shuffle_pool_has_room(struct nm_shuffle_pool *pool)
{
    bool has;

    pthread_mutex_lock(&pool->lock);
    has = has_room_locked(pool);
    pthread_mutex_unlock(&pool->lock);
    return has;
}

/* No task waits, so no other owner has a right to this thread, and few threads run, so this owner may have it. */
bool nm_shuffle_pool_may_continue(struct nm_shuffle_pool *pool, struct nm_shuffle_task *task)
{
    struct nm_shuffle_worker *w = task->worker;
    bool may;

    pthread_mutex_lock(&pool->lock);
    may = has_room_locked(pool);
    if (may) {
        remove_locked(pool, w);
        if (w->is_blocked || !nm_shuffle_owner_equal(w->owner, task->owner))
            w->holder = nm_shuffle_queue_move(pool->queue, w->holder, w->is_blocked, task->owner);
        begin_locked(pool, w, task);
    }
    pthread_mutex_unlock(&pool->lock);
    return may;
}
