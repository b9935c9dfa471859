/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the clients of a server may cost, by who they are. Every connection belongs to an account,
 * under a name that the server chooses (a user, a host, an application), and an account says how
 * many places and how many bytes (bodies, parsed trees, answers) its user holds, and which of its
 * requests wait for their turn.
 *
 * Bytes are shared as switches share their buffers among ports: a user may hold as much as is still
 * free for all. So one alone gets half, each further one finds half of what the others left, and
 * nobody can take so much that another finds nothing. Administrators have a share of their own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

struct nm_quota;
struct nm_quota_account;
struct nm_turn;

int nm_quota_new(uint64_t bytes, struct nm_quota **ret);
/* All accounts must have been given back. */
struct nm_quota *nm_quota_free(struct nm_quota *r);
NM_DEFINE_CLEANUP(struct nm_quota *, nm_quota_free)

/* The account of who connected, made if need be; the caller's reference. Privileged ones draw on the
 * administrators' share. */
int nm_quota_account_of(struct nm_quota *r, const char *who, bool privileged, struct nm_quota_account **ret);
struct nm_quota_account *nm_quota_account_ref(struct nm_quota_account *a);
struct nm_quota_account *nm_quota_account_unref(struct nm_quota_account *a);

/* False: that would be too much now. What was taken must be given back. */
bool nm_quota_account_take(struct nm_quota_account *a, size_t bytes);
void nm_quota_account_give(struct nm_quota_account *a, size_t bytes);
uint64_t nm_quota_account_bytes(const struct nm_quota_account *a);

/* Places: connections that are open. */
void nm_quota_account_enter(struct nm_quota_account *a);
void nm_quota_account_leave(struct nm_quota_account *a);
unsigned nm_quota_account_places(const struct nm_quota_account *a);

/* ---- turns -------------------------------------------------------------------------------- */

/* A request that waits for its turn. Its owner keeps it; zeroed at first. */
struct nm_turn {
    struct nm_turn *next;
    struct nm_quota_account *account; /* in whose line it stands; NULL: in none */
    void (*go)(struct nm_turn *t);
};

/* At the end of its account's line. */
void nm_turn_wait(struct nm_turn *t, struct nm_quota_account *a);
/* Out of the line, if it is in one. */
void nm_turn_cancel(struct nm_turn *t);

/* The user's requests have taken so much time. Who isn't an administrator then waits for
 * NM_RATION_PAUSE times as long before the next one: what a request sets off (a round, a start, an
 * end) takes time, too, and is not seen here. */
#define NM_RATION_PAUSE 8
void nm_quota_account_charge(struct nm_quota_account *a, uint64_t usec, uint64_t now_usec);
/* May it have a request done now, ahead of its turn? */
bool nm_quota_account_is_free(const struct nm_quota_account *a, uint64_t now_usec);

/* Calls go() for the next one: accounts in turn, the requests of each in their order. False: nobody
 * waits who may go now. */
bool nm_quota_next_turn(struct nm_quota *r, uint64_t now_usec);
/* When the next one may go; UINT64_MAX: nobody waits. */
uint64_t nm_quota_due_usec(const struct nm_quota *r);
