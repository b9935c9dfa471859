/* SPDX-License-Identifier: Apache-2.0 */

/* See connections.h. A slot is freed and its descriptor closed under the lock. So the shutdown of all connections
 * never hits a descriptor that was reused. */

#include "shuffle/connections.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>

#include "util/error.h"
#include "util/fnv1a.h"

struct slot {
    int fd; /* -EBADF: the slot is free */
    bool known, spare;
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

/* Counts the slots in each call: there are some hundred slots, and a request costs little compared to its answer. */
bool nm_shuffle_connections_belongs(struct nm_shuffle_connections *p, unsigned slot, uid_t uid, const char *job)
{
    const uint64_t number = nm_fnv1a_64(job);
    const unsigned share = NM_MAX(p->max / 2, 1u);
    unsigned n_user_slots = 0, n_job_slots = 0;
    bool may;

    pthread_mutex_lock(&p->lock);
    for (unsigned i = 0; i < p->room; i++) {
        const struct slot *other = &p->at[i];
        const bool is_the_users = i != slot && other->fd >= 0 && other->known && other->uid == uid;

        n_user_slots += is_the_users;
        n_job_slots += is_the_users && other->job == number;
    }
    may = n_user_slots < share && n_job_slots < share - share / 4;
    if (may) {
        p->at[slot].known = true;
        p->at[slot].uid = uid;
        p->at[slot].job = number;
    }
    pthread_mutex_unlock(&p->lock);
    return may;
}

void nm_shuffle_connections_leave(struct nm_shuffle_connections *p, unsigned slot)
{
    pthread_mutex_lock(&p->lock);
    p->at[slot].fd = nm_close(p->at[slot].fd);
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
