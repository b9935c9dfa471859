/* SPDX-License-Identifier: Apache-2.0 */

/* See user-queue.h. */

#include "localize/user-queue.h"

#include <assert.h>
#include <errno.h>

#include "util/macros.h"

/* A user with waiting or running items. */
struct nm_user_queue_user {
    TAILQ_ENTRY(nm_user_queue_user) link;
    TAILQ_HEAD(, nm_user_queue_item) waiting;
    unsigned n_running; /* includes running items whose slots were freed by nm_user_queue_release_slot() */
    char name[];
};

void nm_user_queue_init(struct nm_user_queue *queue, unsigned max, unsigned own, unsigned most)
{
    assert(own > 0 && own <= max && max <= most);
    *queue = (struct nm_user_queue){.max = max, .own = own, .most = most};
    TAILQ_INIT(&queue->users);
}

static struct nm_user_queue_user *find_user(struct nm_user_queue *queue, const char *name)
{
    struct nm_user_queue_user *u;

    TAILQ_FOREACH(u, &queue->users, link)
        if (nm_streq(u->name, name))
            return u;
    return NULL;
}

static struct nm_user_queue_user *add_user(struct nm_user_queue *queue, const char *name)
{
    size_t size = strlen(name) + 1;
    struct nm_user_queue_user *u = calloc(1, sizeof *u + size);

    if (!u)
        return NULL;
    memcpy(u->name, name, size);
    TAILQ_INIT(&u->waiting);
    TAILQ_INSERT_TAIL(&queue->users, u, link);
    return u;
}

int nm_user_queue_put(struct nm_user_queue *queue, struct nm_user_queue_item *item, const char *user)
{
    struct nm_user_queue_user *u = find_user(queue, user) ?: add_user(queue, user);

    if (!u)
        return -ENOMEM;
    *item = (struct nm_user_queue_item){.user = u, .arrival = queue->n_arrived++};
    TAILQ_INSERT_TAIL(&u->waiting, item, link);
    return 0;
}

static bool may_run(const struct nm_user_queue *queue, const struct nm_user_queue_user *u)
{
    if (TAILQ_EMPTY(&u->waiting))
        return false;
    if (u->n_running < queue->own)
        return queue->n_running < queue->most;
    return queue->n_running < queue->max && u->n_running + 1 < queue->max;
}

static bool goes_before(const struct nm_user_queue_user *a, const struct nm_user_queue_user *b)
{
    if (a->n_running != b->n_running)
        return a->n_running < b->n_running;
    return TAILQ_FIRST(&a->waiting)->arrival < TAILQ_FIRST(&b->waiting)->arrival;
}

struct nm_user_queue_item *nm_user_queue_next(struct nm_user_queue *queue)
{
    struct nm_user_queue_user *u, *next = NULL;
    struct nm_user_queue_item *item;

    TAILQ_FOREACH(u, &queue->users, link)
        if (may_run(queue, u) && (!next || goes_before(u, next)))
            next = u;
    if (!next)
        return NULL;
    item = TAILQ_FIRST(&next->waiting);
    TAILQ_REMOVE(&next->waiting, item, link);
    item->is_running = true;
    next->n_running++;
    queue->n_running++;
    return item;
}

void nm_user_queue_release_slot(struct nm_user_queue *queue, struct nm_user_queue_item *item)
{
    assert(item->is_running && !item->is_written_off);
    item->is_written_off = true;
    queue->n_running--;
}

void nm_user_queue_remove(struct nm_user_queue *queue, struct nm_user_queue_item *item)
{
    struct nm_user_queue_user *u = item->user;

    if (item->is_running) {
        u->n_running--;
        queue->n_running -= !item->is_written_off;
    } else {
        TAILQ_REMOVE(&u->waiting, item, link);
    }
    *item = (struct nm_user_queue_item){0};
    if (u->n_running == 0 && TAILQ_EMPTY(&u->waiting)) {
        TAILQ_REMOVE(&queue->users, u, link);
        free(u);
    }
}
