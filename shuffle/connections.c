/* SPDX-License-Identifier: Apache-2.0 */

/* See connections.h. A slot is freed and its descriptor closed under the lock. So the shutdown of all connections
 * never hits a descriptor that was reused. */

#include "shuffle/connections.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>

#include "shuffle/socket.h"
#include "util/error.h"
#include "util/fnv1a.h"

struct slot {
    int fd; /* -EBADF: the slot is free */
    bool known, spare, is_small; /* is_small: the send buffer */
    uid_t uid;
    uint64_t host, job; /* hashes of the names; names with the same hash share a limit */
};

struct nm_shuffle_connections {
    pthread_mutex_t lock;
    pthread_cond_t left;
    unsigned max, room, taken;
    unsigned host_guests, guests; /* maximum of connections without a user, of one host and of all */
    bool closed;
    struct slot at[];
};

int nm_shuffle_connections_new(unsigned max, struct nm_shuffle_connections **ret)
{
    unsigned room = max + NM_SHUFFLE_SPARE_SLOTS;
    struct nm_shuffle_connections *p = calloc(1, sizeof *p + room * sizeof p->at[0]);

    assert(max > 0);
    if (!p)
        return -ENOMEM;
    p->max = p->guests = max;
    p->host_guests = NM_MAX(max / 4, 1u);
    p->room = room;
    for (unsigned i = 0; i < room; i++)
        p->at[i].fd = -EBADF;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->left, NULL);
    *ret = p;
    return 0;
}

void nm_shuffle_connections_limit_guests(struct nm_shuffle_connections *p, unsigned host, unsigned all)
{
    p->host_guests = NM_MAX(host, 1u);
    p->guests = NM_MAX(all, 1u);
}

struct nm_shuffle_connections *nm_shuffle_connections_free(struct nm_shuffle_connections *p)
{
    if (!p)
        return NULL;
    assert(p->taken == 0);
    pthread_cond_destroy(&p->left);
    pthread_mutex_destroy(&p->lock);
    free(p);
    return NULL;
}

struct slot_counts {
    unsigned spare, guests, host, host_spare; /* spare: in use by all hosts; guests: connections of all hosts that have
                                                 not signed a request; host, host_spare: slots of the host's such
                                                 connections */
};

static struct slot_counts count_locked(const struct nm_shuffle_connections *p, uint64_t host)
{
    struct slot_counts counts = {0};

    for (unsigned i = 0; i < p->room; i++) {
        const struct slot *at = &p->at[i];
        const bool is_open = at->fd >= 0, is_the_hosts = is_open && !at->known && at->host == host;

        counts.spare += is_open && at->spare;
        counts.guests += is_open && !at->known && !at->spare;
        counts.host += is_the_hosts && !at->spare;
        counts.host_spare += is_the_hosts && at->spare;
    }
    return counts;
}

static int enter_locked(struct nm_shuffle_connections *p, int fd, uint64_t host, unsigned *ret_slot)
{
    const struct slot_counts counts = count_locked(p, host);
    const bool is_over = counts.host >= p->host_guests || counts.guests >= p->guests;
    const bool spare = is_over || p->taken - counts.spare >= p->max;
    unsigned i = 0;

    if (p->closed)
        return -ECANCELED;
    if (spare && (counts.spare >= NM_SHUFFLE_SPARE_SLOTS || counts.host_spare >= NM_SHUFFLE_SPARE_SLOTS / 2))
        return -EBUSY;
    while (p->at[i].fd >= 0)
        i++;
    p->at[i] = (struct slot){.fd = fd, .spare = spare, .host = host};
    p->taken++;
    *ret_slot = i;
    return spare ? NM_SHUFFLE_CONNECTIONS_E_SPARE : 0;
}

int nm_shuffle_connections_enter(struct nm_shuffle_connections *p, int fd, const char *host, unsigned *ret_slot)
{
    int r;

    pthread_mutex_lock(&p->lock);
    r = enter_locked(p, fd, nm_fnv1a_64(host), ret_slot);
    pthread_mutex_unlock(&p->lock);
    return r;
}

struct belonging_counts {
    unsigned user, job;                   /* slots of the other connections */
    unsigned large, user_large, job_large; /* those of them with large send buffers */
};

static struct belonging_counts count_belonging_locked(const struct nm_shuffle_connections *p, unsigned slot, uid_t uid,
                                                      uint64_t job)
{
    struct belonging_counts counts = {0};

    for (unsigned i = 0, n_left = p->taken; n_left > 0; i++) {
        const struct slot *at = &p->at[i];
        const bool is_open = at->fd >= 0, is_known = is_open && i != slot && at->known;
        const bool is_the_users = is_known && at->uid == uid, is_the_jobs = is_the_users && at->job == job;

        n_left -= is_open;
        counts.user += is_the_users;
        counts.job += is_the_jobs;
        counts.large += is_known && !at->is_small;
        counts.user_large += is_the_users && !at->is_small;
        counts.job_large += is_the_jobs && !at->is_small;
    }
    return counts;
}

static bool belongs_locked(struct nm_shuffle_connections *p, unsigned slot, uid_t uid, uint64_t job)
{
    const struct belonging_counts counts = count_belonging_locked(p, slot, uid, job);
    const unsigned share = NM_MAX(p->max / 2, 1u);
    struct slot *at = &p->at[slot];

    if (counts.user >= share || counts.job >= share - share / 4)
        return false;
    at->known = true;
    at->uid = uid;
    at->job = job;
    if (!at->is_small && (counts.job_large >= NM_SHUFFLE_JOB_LARGE_MAX ||
                          counts.user_large >= NM_SHUFFLE_USER_LARGE_MAX || counts.large >= NM_SHUFFLE_LARGE_MAX)) {
        nm_shuffle_socket_shrink(at->fd);
        at->is_small = true;
    }
    return true;
}

/* Counts the slots in each call, up to the last that is taken: a request costs little compared to its answer. */
bool nm_shuffle_connections_belongs(struct nm_shuffle_connections *p, unsigned slot, uid_t uid, const char *job)
{
    const uint64_t number = nm_fnv1a_64(job);
    bool may;

    pthread_mutex_lock(&p->lock);
    may = belongs_locked(p, slot, uid, number);
    pthread_mutex_unlock(&p->lock);
    return may;
}

void nm_shuffle_connections_leave(struct nm_shuffle_connections *p, unsigned slot)
{
    pthread_mutex_lock(&p->lock);
    p->at[slot].fd = nm_shuffle_socket_close(p->at[slot].fd);
    p->taken--;
    pthread_cond_signal(&p->left);
    pthread_mutex_unlock(&p->lock);
}

unsigned nm_shuffle_connections_count(struct nm_shuffle_connections *p)
{
    unsigned n;

    pthread_mutex_lock(&p->lock);
    n = p->taken;
    pthread_mutex_unlock(&p->lock);
    return n;
}

unsigned nm_shuffle_connections_room(const struct nm_shuffle_connections *p)
{
    return p->room;
}

void nm_shuffle_connections_close(struct nm_shuffle_connections *p)
{
    pthread_mutex_lock(&p->lock);
    p->closed = true;
    for (unsigned i = 0; i < p->room; i++)
        if (p->at[i].fd >= 0)
            shutdown(p->at[i].fd, SHUT_RDWR);
    while (p->taken > 0)
        pthread_cond_wait(&p->left, &p->lock);
    pthread_mutex_unlock(&p->lock);
}
