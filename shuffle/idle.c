/* SPDX-License-Identifier: Apache-2.0 */

/* See idle.h. */

#include "shuffle/idle.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "util/error.h"

TAILQ_HEAD(entries, nm_shuffle_idle_entry);

/* Each list has the same timeout for all of its connections, so the list is sorted by the deadlines. */
struct nm_shuffle_idle {
    int epoll;
    pthread_mutex_t lock;
    bool is_closed;
    struct entries first, later;
};

int nm_shuffle_idle_new(struct nm_shuffle_idle **ret)
{
    _cleanup_free_ struct nm_shuffle_idle *idle = calloc(1, sizeof *idle);

    if (!idle)
        return -ENOMEM;
    idle->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (idle->epoll < 0)
        return -errno;
    pthread_mutex_init(&idle->lock, NULL);
    TAILQ_INIT(&idle->first);
    TAILQ_INIT(&idle->later);
    *ret = STEAL_PTR(idle);
    return 0;
}

struct nm_shuffle_idle *nm_shuffle_idle_free(struct nm_shuffle_idle *idle)
{
    if (!idle)
        return NULL;
    assert(TAILQ_EMPTY(&idle->first) && TAILQ_EMPTY(&idle->later));
    nm_close(idle->epoll);
    pthread_mutex_destroy(&idle->lock);
    free(idle);
    return NULL;
}

static struct entries *list_of(struct nm_shuffle_idle *idle, const struct nm_shuffle_idle_entry *entry)
{
    return entry->is_first ? &idle->first : &idle->later;
}

/* Reports a connection once only (EPOLLONESHOT), because the thread that serves it reads from it afterwards. */
static int add_locked(struct nm_shuffle_idle *idle, struct nm_shuffle_idle_entry *entry)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, .data.ptr = entry};

    if (idle->is_closed)
        return -ECANCELED;
    if (epoll_ctl(idle->epoll, entry->is_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, entry->fd, &event) < 0)
        return -errno;
    entry->is_known = true;
    TAILQ_INSERT_TAIL(list_of(idle, entry), entry, by_deadline);
    return 0;
}

int nm_shuffle_idle_add(struct nm_shuffle_idle *idle, struct nm_shuffle_idle_entry *entry)
{
    int r;

    pthread_mutex_lock(&idle->lock);
    r = add_locked(idle, entry);
    pthread_mutex_unlock(&idle->lock);
    return r;
}

int nm_shuffle_idle_fd(const struct nm_shuffle_idle *idle)
{
    return idle->epoll;
}

/* Takes one event at a time: an expired connection is removed between two calls, and an event in an array could still
 * refer to it. */
struct nm_shuffle_idle_entry *nm_shuffle_idle_ready(struct nm_shuffle_idle *idle)
{
    struct nm_shuffle_idle_entry *entry;
    struct epoll_event event;

    if (epoll_wait(idle->epoll, &event, 1, 0) <= 0)
        return NULL;
    entry = event.data.ptr;
    pthread_mutex_lock(&idle->lock);
    TAILQ_REMOVE(list_of(idle, entry), entry, by_deadline);
    pthread_mutex_unlock(&idle->lock);
    return entry;
}

/* The caller closes the descriptor, which removes it from the kernel's list. */
struct nm_shuffle_idle_entry *nm_shuffle_idle_expired(struct nm_shuffle_idle *idle, uint64_t now_usec)
{
    struct entries *const lists[] = {&idle->first, &idle->later};
    struct nm_shuffle_idle_entry *expired = NULL;

    pthread_mutex_lock(&idle->lock);
    for (size_t i = 0; i < NM_ARRAY_SIZE(lists) && !expired; i++) {
        struct nm_shuffle_idle_entry *oldest = TAILQ_FIRST(lists[i]);

        if (oldest && oldest->deadline_usec <= now_usec) {
            TAILQ_REMOVE(lists[i], oldest, by_deadline);
            expired = oldest;
        }
    }
    pthread_mutex_unlock(&idle->lock);
    return expired;
}

void nm_shuffle_idle_close(struct nm_shuffle_idle *idle)
{
    pthread_mutex_lock(&idle->lock);
    idle->is_closed = true;
    pthread_mutex_unlock(&idle->lock);
}
