/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Limits what the clients of a server may use. Every connection belongs to an account, whose name the server chooses
 * (a user, a host, an application). An account counts the connections and bytes (bodies, parsed trees, answers) in use,
 * and holds the requests that wait for their turn.
 *
 * Bytes are shared as switches share their buffers among ports: an account may hold as many bytes as are still free. A
 * single account gets half of the bytes, and each further account gets half of the rest, so that one account can't
 * exhaust the bytes. Administrators have a separate share.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "util/clock.h"
#include "util/macros.h"

struct nm_quota;
struct nm_quota_account;
struct nm_turn;

int nm_quota_new(uint64_t bytes, struct nm_quota **ret);
/* Frees the quota. All references to its accounts must have been released. */
struct nm_quota *nm_quota_free(struct nm_quota *r);
NM_DEFINE_CLEANUP(struct nm_quota *, nm_quota_free)

/* Returns a reference to the account of that name, which the caller owns, and creates the account if necessary.
 * Privileged accounts use the administrators' share. */
int nm_quota_account_of(struct nm_quota *r, const char *who, bool privileged, struct nm_quota_account **ret);
struct nm_quota_account *nm_quota_account_ref(struct nm_quota_account *a);
struct nm_quota_account *nm_quota_account_unref(struct nm_quota_account *a);

/* Reserves bytes. Returns false if they exceed the account's current limit. Reserved bytes must be released with
 * nm_quota_account_give(). */
bool nm_quota_account_take(struct nm_quota_account *a, size_t bytes);
void nm_quota_account_give(struct nm_quota_account *a, size_t bytes);
uint64_t nm_quota_account_bytes(const struct nm_quota_account *a);

/* Count the open connections of the account. */
void nm_quota_account_enter(struct nm_quota_account *a);
void nm_quota_account_leave(struct nm_quota_account *a);
unsigned nm_quota_account_connections(const struct nm_quota_account *a);

/* ---- turns ----------------------------------------------------------------------------------- */

/* A request that waits for its turn. The owner allocates it, zeroed. */
struct nm_turn {
    struct nm_turn *next;
    struct nm_quota_account *account; /* account in whose queue the request waits; NULL: the request doesn't wait */
    void (*run_turn)(struct nm_turn *t);
};

/* Appends the request to the account's queue. */
void nm_turn_wait(struct nm_turn *t, struct nm_quota_account *a);
/* Removes the request from its queue, if the request is in a queue. */
void nm_turn_cancel(struct nm_turn *t);

/* Charges the account for the time that its requests took. An account that doesn't belong to an administrator then
 * waits NM_QUOTA_PAUSE times as long before its next request may be processed, because the consequences of a request (a
 * round, a start, an end) take time that isn't measured here. */
#define NM_QUOTA_PAUSE 8
void nm_quota_account_charge(struct nm_quota_account *a, uint64_t usec, uint64_t now_usec);
/* Returns whether a request of the account may be processed now without waiting in the queue. */
bool nm_quota_account_is_free(const struct nm_quota_account *a, uint64_t now_usec);

/* Calls run_turn() of the next waiting request. Accounts take turns, and the requests of each account keep their
 * order. Returns false if no waiting request may be processed now. */
bool nm_quota_next_turn(struct nm_quota *r, uint64_t now_usec);
/* Returns when the next request may be processed; UINT64_MAX if no request waits. */
uint64_t nm_quota_due_usec(const struct nm_quota *r);

/* ---- cost ------------------------------------------------------------------------------------ */

/*
 * Measures the time for which a piece of work occupies this thread. The user who caused the work is charged for it.
 * Time in which the thread was runnable but other processes used the CPU doesn't count. On a busy host this is most of
 * the time, and users would wait NM_QUOTA_PAUSE times as long because of load that they didn't cause.
 */

struct nm_cost {
    uint64_t wall_usec, cpu_usec;
    long waits; /* voluntary context switches, such as waits for a disk */
};

static inline struct nm_cost nm_cost_now(void)
{
    struct rusage u = {0};

    (void)getrusage(RUSAGE_THREAD, &u);
    return (struct nm_cost){
        .wall_usec = nm_now_usec(),
        .cpu_usec = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
                    (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec),
        .waits = u.ru_nvcsw,
    };
}

/* Returns the time to charge between two measurements. */
static inline uint64_t nm_cost_usec(const struct nm_cost *from, const struct nm_cost *to)
{
    uint64_t wall_usec = to->wall_usec - from->wall_usec, cpu_usec = to->cpu_usec - from->cpu_usec;

    return to->waits == from->waits && cpu_usec < wall_usec ? cpu_usec : wall_usec;
}
