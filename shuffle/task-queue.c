/* SPDX-License-Identifier: Apache-2.0 */

/* See task-queue.h. */

#include "shuffle/task-queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "util/fnv1a.h"

#define BUCKET_BITS 10
#define BUCKETS (1u << BUCKET_BITS)

TAILQ_HEAD(holders, nm_shuffle_holder);

/* A user or an owner that has waiting or running tasks. */
struct nm_shuffle_holder {
    LIST_ENTRY(nm_shuffle_holder) same_bucket;
    struct nm_shuffle_owner key;    /* the id of a user is 0 */
    struct nm_shuffle_holder *user; /* of an owner; NULL: this is a user */
    unsigned n_running, n_blocked;  /* tasks that run, and those of them whose threads are blocked */
    unsigned n_waiting, n_owners;   /* an owner's tasks that wait, and a user's owners */
    bool is_ready;                  /* one of its tasks may run, so it is in the list of those that take turns */
    TAILQ_ENTRY(nm_shuffle_holder) turn;
    struct nm_shuffle_tasks tasks;  /* of an owner */
    struct holders ready;           /* owners of a user */
};

LIST_HEAD(bucket, nm_shuffle_holder);

/* The unused holders are those after the first n_used, whose memory has never been touched, and those in `unused`. */
struct nm_shuffle_queue {
    struct holders ready; /* users */
    unsigned n_waiting;
    struct bucket buckets[BUCKETS];
    struct bucket unused;
    unsigned n_used, room;
    struct nm_shuffle_holder at[];
};

struct nm_shuffle_owner nm_shuffle_owner_of(const char *user, uint64_t id)
{
    return (struct nm_shuffle_owner){nm_fnv1a_64(user) ?: 1, id ?: 1};
}

bool nm_shuffle_owner_equal(struct nm_shuffle_owner a, struct nm_shuffle_owner b)
{
    return a.user == b.user && a.id == b.id;
}

/* Each task has an owner, and each owner a user. calloc() leaves the memory of the holders to the kernel until they are
 * used. */
int nm_shuffle_queue_new(unsigned max, struct nm_shuffle_queue **ret)
{
    const unsigned room = 2 * max;
    struct nm_shuffle_queue *q = calloc(1, sizeof *q + room * sizeof q->at[0]);

    if (!q)
        return -ENOMEM;
    TAILQ_INIT(&q->ready);
    q->room = room;
    *ret = q;
    return 0;
}

struct nm_shuffle_queue *nm_shuffle_queue_free(struct nm_shuffle_queue *q)
{
    if (!q)
        return NULL;
    assert(q->n_waiting == 0);
    free(q);
    return NULL;
}

/* ---- holders ------------------------------------------------------------------------------ */

static unsigned bucket_of(struct nm_shuffle_owner key)
{
    const uint64_t mixed = (key.user * UINT64_C(0x9e3779b97f4a7c15) + key.id) * UINT64_C(0xd6e8feb86659fd93);

    return (unsigned)(mixed >> (64 - BUCKET_BITS));
}

static struct nm_shuffle_holder *find(const struct nm_shuffle_queue *q, struct nm_shuffle_owner key)
{
    struct nm_shuffle_holder *h;

    LIST_FOREACH(h, &q->buckets[bucket_of(key)], same_bucket)
        if (nm_shuffle_owner_equal(h->key, key))
            return h;
    return NULL;
}

/* Returns a new holder, or NULL if all are used. */
static struct nm_shuffle_holder *add(struct nm_shuffle_queue *q, struct nm_shuffle_owner key)
{
    struct nm_shuffle_holder *h = LIST_FIRST(&q->unused);

    if (h)
        LIST_REMOVE(h, same_bucket);
    else if (q->n_used < q->room)
        h = &q->at[q->n_used++];
    else
        return NULL;
    *h = (struct nm_shuffle_holder){.key = key};
    TAILQ_INIT(&h->tasks);
    TAILQ_INIT(&h->ready);
    LIST_INSERT_HEAD(&q->buckets[bucket_of(key)], h, same_bucket);
    return h;
}

static void drop(struct nm_shuffle_queue *q, struct nm_shuffle_holder *h)
{
    LIST_REMOVE(h, same_bucket);
    LIST_INSERT_HEAD(&q->unused, h, same_bucket);
}

static struct nm_shuffle_owner user_key(struct nm_shuffle_owner owner)
{
    return (struct nm_shuffle_owner){.user = owner.user};
}

/* Returns the holder of an owner, and adds it if it is new. Returns NULL if all holders are used. */
static struct nm_shuffle_holder *ensure(struct nm_shuffle_queue *q, struct nm_shuffle_owner owner)
{
    struct nm_shuffle_holder *h = find(q, owner), *user;

    if (h)
        return h;
    user = find(q, user_key(owner));
    if (!user && !(user = add(q, user_key(owner))))
        return NULL;
    h = add(q, owner);
    if (h) {
        h->user = user;
        user->n_owners++;
    } else if (user->n_owners == 0) {
        drop(q, user);
    }
    return h;
}

static void drop_if_unused(struct nm_shuffle_queue *q, struct nm_shuffle_holder *h)
{
    struct nm_shuffle_holder *user = h->user;

    if (h->n_waiting > 0 || h->n_running > 0)
        return;
    drop(q, h);
    if (--user->n_owners == 0)
        drop(q, user);
}

/* ---- turns -------------------------------------------------------------------------------- */

/* Returns how many threads a holder may have beyond those that it has. */
static unsigned room_of(const struct nm_shuffle_holder *h)
{
    const unsigned working = h->user ? NM_SHUFFLE_OWNER_THREADS_MAX : NM_SHUFFLE_USER_THREADS_MAX,
                   all = h->user ? NM_SHUFFLE_OWNER_BLOCKED_THREADS_MAX : NM_SHUFFLE_USER_BLOCKED_THREADS_MAX;

    return (unsigned)NM_MIN(nm_sub_u64(working, h->n_running - h->n_blocked), nm_sub_u64(all, h->n_running));
}

/* Moves a holder to the end of those that take turns, or out of their list. has_taken: it has just had its turn. */
static void update_one(struct holders *list, struct nm_shuffle_holder *h, bool has_taken)
{
    const bool is_ready = (h->user ? h->n_waiting > 0 : !TAILQ_EMPTY(&h->ready)) && room_of(h) > 0;

    if (h->is_ready && (!is_ready || has_taken))
        TAILQ_REMOVE(list, h, turn);
    if (is_ready && (!h->is_ready || has_taken))
        TAILQ_INSERT_TAIL(list, h, turn);
    h->is_ready = is_ready;
}

/* Updates an owner and its user. The first decides whether the second is ready. */
static void update(struct nm_shuffle_queue *q, struct nm_shuffle_holder *h, bool has_taken)
{
    update_one(&h->user->ready, h, has_taken);
    update_one(&q->ready, h->user, has_taken);
}

int nm_shuffle_queue_put(struct nm_shuffle_queue *q, struct nm_shuffle_task *task)
{
    struct nm_shuffle_holder *h = ensure(q, task->owner);

    if (!h)
        return -ENOBUFS;
    TAILQ_INSERT_TAIL(&h->tasks, task, link);
    h->n_waiting++;
    q->n_waiting++;
    update(q, h, false);
    return 0;
}

static void count_running(struct nm_shuffle_holder *h, int change)
{
    h->n_running += (unsigned)change;
    h->user->n_running += (unsigned)change;
}

static void count_blocked(struct nm_shuffle_holder *h, int change)
{
    h->n_blocked += (unsigned)change;
    h->user->n_blocked += (unsigned)change;
}

struct nm_shuffle_task *nm_shuffle_queue_take(struct nm_shuffle_queue *q, struct nm_shuffle_holder **ret_holder)
{
    const struct nm_shuffle_holder *user = TAILQ_FIRST(&q->ready);
    struct nm_shuffle_holder *h = user ? TAILQ_FIRST(&user->ready) : NULL;
    struct nm_shuffle_task *task;

    if (!h)
        return NULL;
    task = TAILQ_FIRST(&h->tasks);
    TAILQ_REMOVE(&h->tasks, task, link);
    h->n_waiting--;
    q->n_waiting--;
    count_running(h, 1);
    update(q, h, true);
    *ret_holder = h;
    return task;
}

void nm_shuffle_queue_block(struct nm_shuffle_queue *q, struct nm_shuffle_holder *h)
{
    count_blocked(h, 1);
    update(q, h, false);
}

void nm_shuffle_queue_end(struct nm_shuffle_queue *q, struct nm_shuffle_holder *h, bool was_blocked)
{
    count_running(h, -1);
    count_blocked(h, was_blocked ? -1 : 0);
    update(q, h, false);
    drop_if_unused(q, h);
}

struct nm_shuffle_holder *nm_shuffle_queue_move(struct nm_shuffle_queue *q, struct nm_shuffle_holder *former,
                                                bool was_blocked, struct nm_shuffle_owner owner)
{
    struct nm_shuffle_holder *h = ensure(q, owner);

    if (!h) /* more tasks than the pool was made for */
        return former;
    count_running(h, 1);
    update(q, h, false);
    nm_shuffle_queue_end(q, former, was_blocked);
    return h;
}

/* ---- looks -------------------------------------------------------------------------------- */

bool nm_shuffle_queue_may_run(const struct nm_shuffle_queue *q, struct nm_shuffle_owner owner)
{
    const struct nm_shuffle_holder *h = find(q, owner), *user = h ? h->user : find(q, user_key(owner));

    return (!h || room_of(h) > 0) && (!user || room_of(user) > 0);
}

bool nm_shuffle_queue_is_ready(const struct nm_shuffle_queue *q)
{
    return !TAILQ_EMPTY(&q->ready);
}

unsigned nm_shuffle_queue_ready(const struct nm_shuffle_queue *q)
{
    const struct nm_shuffle_holder *user, *h;
    unsigned n = 0;

    TAILQ_FOREACH(user, &q->ready, turn) {
        unsigned n_users = 0;

        TAILQ_FOREACH(h, &user->ready, turn)
            n_users += NM_MIN(h->n_waiting, room_of(h));
        n += NM_MIN(n_users, room_of(user));
    }
    return n;
}

unsigned nm_shuffle_queue_waiting(const struct nm_shuffle_queue *q)
{
    return q->n_waiting;
}
