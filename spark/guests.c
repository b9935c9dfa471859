/* SPDX-License-Identifier: Apache-2.0 */

/* See guests.h. */

#include "spark/guests.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

#include "spark/memory.h"
#include "util/error.h"
#include "util/fnv1a.h"

#define ACCOUNTS 1024u
#define PER_USEC UINT64_C(100) /* units of struct account.owed */

/* A leaky bucket, as in shuffle/share.c. */
struct account {
    uint64_t owed, at_usec;
};

struct nm_spark_guests {
    pthread_mutex_t lock;
    uint64_t secret;
    struct nm_spark_memory *memory;
    struct account all, hosts[ACCOUNTS];
};

int nm_spark_guests_new(struct nm_spark_guests **ret)
{
    struct nm_spark_guests *g = calloc(1, sizeof *g);
    int r;

    if (!g)
        return -ENOMEM;
    if (getrandom(&g->secret, sizeof g->secret, 0) != sizeof g->secret) {
        free(g);
        return -EIO;
    }
    if ((r = nm_spark_memory_new(NM_SPARK_GUESTS_BYTES_MAX, &g->memory)) < 0) {
        free(g);
        return r;
    }
    pthread_mutex_init(&g->lock, NULL);
    *ret = g;
    return 0;
}

struct nm_spark_guests *nm_spark_guests_free(struct nm_spark_guests *g)
{
    if (!g)
        return NULL;
    nm_spark_memory_free(g->memory);
    pthread_mutex_destroy(&g->lock);
    free(g);
    return NULL;
}

uint64_t nm_spark_guests_host(const struct nm_spark_guests *g, const char *name)
{
    const uint64_t hash = NM_FNV1A_64_BASIS ^ (g ? g->secret : 0);

    return nm_fnv1a_64_more(hash, name, strlen(name)) ?: 1;
}

/* ---- CPU time ----------------------------------------------------------------------------- */

/* Returns for how long new work must wait. */
static uint64_t drain(struct account *a, unsigned percent, uint64_t burst_usec, uint64_t now_usec)
{
    a->owed = nm_sub_u64(a->owed, nm_sub_u64(now_usec, a->at_usec) * percent);
    a->at_usec = NM_MAX(a->at_usec, now_usec);
    return nm_sub_u64(a->owed, burst_usec * PER_USEC) / percent;
}

static uint64_t drain_both(struct nm_spark_guests *g, struct account *host, uint64_t now_usec)
{
    const uint64_t all_usec = drain(&g->all, NM_SPARK_GUESTS_PERCENT, NM_SPARK_GUESTS_BURST_USEC, now_usec);
    const uint64_t host_usec = drain(host, NM_SPARK_GUEST_PERCENT, NM_SPARK_GUEST_BURST_USEC, now_usec);

    return NM_MAX(all_usec, host_usec);
}

static void add(struct nm_spark_guests *g, struct account *host, uint64_t work_usec)
{
    g->all.owed = nm_add_u64(g->all.owed, work_usec * PER_USEC);
    host->owed = nm_add_u64(host->owed, work_usec * PER_USEC);
}

int nm_spark_guests_book(struct nm_spark_guests *g, uint64_t host, uint64_t work_usec, uint64_t now_usec,
                         uint64_t *ret_wait_usec)
{
    struct account *account;
    uint64_t wait_usec;

    *ret_wait_usec = 0;
    if (!g)
        return 0;
    account = &g->hosts[host % ACCOUNTS];
    pthread_mutex_lock(&g->lock);
    wait_usec = drain_both(g, account, now_usec);
    if (wait_usec <= NM_SPARK_GUEST_WAIT_MAX_USEC)
        add(g, account, work_usec);
    pthread_mutex_unlock(&g->lock);
    if (wait_usec > NM_SPARK_GUEST_WAIT_MAX_USEC)
        return -EBUSY;
    *ret_wait_usec = wait_usec;
    return 0;
}

void nm_spark_guests_owe(struct nm_spark_guests *g, uint64_t host, uint64_t work_usec, uint64_t now_usec)
{
    struct account *account;

    if (!g)
        return;
    account = &g->hosts[host % ACCOUNTS];
    pthread_mutex_lock(&g->lock);
    (void)drain_both(g, account, now_usec);
    add(g, account, work_usec);
    pthread_mutex_unlock(&g->lock);
}

/* ---- memory ------------------------------------------------------------------------------- */

/* A host has the limits of an application whose user has no other one. */
int nm_spark_guests_take(struct nm_spark_guests *g, uint64_t host, uint64_t bytes)
{
    char name[24];

    if (!g)
        return 0;
    (void)snprintf(name, sizeof name, "%" PRIx64, host);
    return nm_spark_memory_take(g->memory, (uid_t)host, name, bytes);
}

void nm_spark_guests_give(struct nm_spark_guests *g, uint64_t host, uint64_t bytes)
{
    char name[24];

    if (!g)
        return;
    (void)snprintf(name, sizeof name, "%" PRIx64, host);
    nm_spark_memory_give(g->memory, (uid_t)host, name, bytes);
}
