/* SPDX-License-Identifier: Apache-2.0 */

/* See idle.h. */

#include "shuffle/idle.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "util/error.h"

/* The deadlines are a binary heap: entry i is not later than the entries 2i + 1 and 2i + 2. Most waits have the same
 * few lengths, but waits for the share of a job have any length. */
struct nm_shuffle_idle {
    int epoll, wake; /* wake: an eventfd, which is one of the descriptors of epoll, without an entry */
    pthread_mutex_t lock;
    bool is_closed;
    uint64_t next_usec; /* the result of the last nm_shuffle_idle_next() */
    struct nm_shuffle_idle_entry **heap;
    size_t n, room;
};

static int watch(struct nm_shuffle_idle *idle, int operation, int fd, uint32_t events, void *entry)
{
    struct epoll_event event = {.events = events, .data.ptr = entry};

    return epoll_ctl(idle->epoll, operation, fd, &event) < 0 ? -errno : 0;
}

int nm_shuffle_idle_new(struct nm_shuffle_idle **ret)
{
    struct nm_shuffle_idle *idle = calloc(1, sizeof *idle);
    int r;

    if (!idle)
        return -ENOMEM;
    pthread_mutex_init(&idle->lock, NULL);
    idle->epoll = epoll_create1(EPOLL_CLOEXEC);
    idle->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r = idle->epoll < 0 || idle->wake < 0 ? -errno : watch(idle, EPOLL_CTL_ADD, idle->wake, EPOLLIN, NULL);
    if (r < 0)
        idle = nm_shuffle_idle_free(idle);
    else
        *ret = idle;
    return r;
}

struct nm_shuffle_idle *nm_shuffle_idle_free(struct nm_shuffle_idle *idle)
{
    if (!idle)
        return NULL;
    assert(idle->n == 0);
    nm_close(idle->epoll);
    nm_close(idle->wake);
    pthread_mutex_destroy(&idle->lock);
    free(idle->heap);
    free(idle);
    return NULL;
}

/* ---- deadlines ---------------------------------------------------------------------------- */

static void put(struct nm_shuffle_idle *idle, size_t place, struct nm_shuffle_idle_entry *entry)
{
    idle->heap[place] = entry;
    entry->place = place;
}

/* Puts an entry at this place, or above it. */
static void move_up(struct nm_shuffle_idle *idle, size_t place, struct nm_shuffle_idle_entry *entry)
{
    for (; place > 0 && idle->heap[(place - 1) / 2]->deadline_usec > entry->deadline_usec; place = (place - 1) / 2)
        put(idle, place, idle->heap[(place - 1) / 2]);
    put(idle, place, entry);
}

/* Puts an entry at this place, or below it. */
static void move_down(struct nm_shuffle_idle *idle, size_t place, struct nm_shuffle_idle_entry *entry)
{
    for (size_t child; (child = 2 * place + 1) < idle->n; place = child) {
        if (child + 1 < idle->n && idle->heap[child + 1]->deadline_usec < idle->heap[child]->deadline_usec)
            child++;
        if (idle->heap[child]->deadline_usec >= entry->deadline_usec)
            break;
        put(idle, place, idle->heap[child]);
    }
    put(idle, place, entry);
}

static int ensure_room(struct nm_shuffle_idle *idle)
{
    const size_t room = NM_MAX(2 * idle->room, (size_t)64);
    struct nm_shuffle_idle_entry **heap;

    if (idle->n < idle->room)
        return 0;
    heap = realloc(idle->heap, room * sizeof(struct nm_shuffle_idle_entry *));
    if (!heap)
        return -ENOMEM;
    idle->heap = heap;
    idle->room = room;
    return 0;
}

/* The last entry takes the place of the removed one. */
static void remove_locked(struct nm_shuffle_idle *idle, struct nm_shuffle_idle_entry *entry)
{
    struct nm_shuffle_idle_entry *last = idle->heap[--idle->n];

    if (last == entry)
        return;
    if (last->deadline_usec < entry->deadline_usec)
        move_up(idle, entry->place, last);
    else
        move_down(idle, entry->place, last);
}

/* ---- waiting ------------------------------------------------------------------------------ */

/* Reports a connection once only (EPOLLONESHOT), because the thread that serves it uses it afterwards. */
static int add_locked(struct nm_shuffle_idle *idle, struct nm_shuffle_idle_entry *entry)
{
    int r;

    if (idle->is_closed)
        return -ECANCELED;
    if ((r = ensure_room(idle)) < 0 ||
        (r = watch(idle, entry->is_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, entry->fd,
                   entry->events | EPOLLRDHUP | EPOLLONESHOT, entry)) < 0)
        return r;
    entry->is_known = true;
    move_up(idle, idle->n++, entry);
    if (entry->deadline_usec < idle->next_usec) {
        idle->next_usec = entry->deadline_usec;
        (void)eventfd_write(idle->wake, 1);
    }
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

uint64_t nm_shuffle_idle_next(struct nm_shuffle_idle *idle, uint64_t max_usec)
{
    uint64_t next_usec;

    pthread_mutex_lock(&idle->lock);
    next_usec = idle->n > 0 ? NM_MIN(idle->heap[0]->deadline_usec, max_usec) : max_usec;
    idle->next_usec = next_usec;
    pthread_mutex_unlock(&idle->lock);
    return next_usec;
}

/* Takes one event at a time: an expired connection is removed between two calls, and an event in an array could still
 * refer to it. */
struct nm_shuffle_idle_entry *nm_shuffle_idle_ready(struct nm_shuffle_idle *idle)
{
    struct nm_shuffle_idle_entry *entry;
    struct epoll_event event;
    eventfd_t n;

    do
        if (epoll_wait(idle->epoll, &event, 1, 0) <= 0)
            return NULL;
    while (!event.data.ptr && eventfd_read(idle->wake, &n) == 0);
    entry = event.data.ptr;
    if (!entry)
        return NULL;
    pthread_mutex_lock(&idle->lock);
    remove_locked(idle, entry);
    pthread_mutex_unlock(&idle->lock);
    entry->ready_events = event.events;
    return entry;
}

/* Removes the descriptor from the kernel's list, too: its event could still arrive while another thread has the
 * connection. */
struct nm_shuffle_idle_entry *nm_shuffle_idle_expired(struct nm_shuffle_idle *idle, uint64_t now_usec)
{
    struct nm_shuffle_idle_entry *expired = NULL;

    pthread_mutex_lock(&idle->lock);
    if (idle->n > 0 && idle->heap[0]->deadline_usec <= now_usec) {
        expired = idle->heap[0];
        remove_locked(idle, expired);
        (void)epoll_ctl(idle->epoll, EPOLL_CTL_DEL, expired->fd, NULL);
        expired->is_known = false;
        expired->ready_events = 0;
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
