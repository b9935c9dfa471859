/* SPDX-License-Identifier: Apache-2.0 */

/* See quota.h. Accounts are in a list, because they are few: one per connected client. */

#include "util/quota.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "util/error.h"

struct nm_quota_account {
    struct nm_quota *quota;
    struct nm_quota_account *next;
    unsigned n_refs, n_connections;
    char *who;
    bool privileged;
    uint64_t bytes;
    uint64_t pause_until_usec;
    struct nm_turn *first, **end;     /* waiting requests, oldest first */
    struct nm_quota_account *next_in_round; /* valid while requests wait */
};

struct nm_quota {
    struct nm_quota_account *accounts;
    uint64_t bytes_max;
    uint64_t bytes[2];                        /* bytes in use by [0] other accounts, [1] administrators */
    struct nm_quota_account *round, **end_of_round; /* accounts with waiting requests */
};

int nm_quota_new(uint64_t bytes, struct nm_quota **ret)
{
    struct nm_quota *r = calloc(1, sizeof *r);

    assert(bytes > 0);
    if (!r)
        return -ENOMEM;
    r->bytes_max = bytes;
    r->end_of_round = &r->round;
    *ret = r;
    return 0;
}

struct nm_quota *nm_quota_free(struct nm_quota *r)
{
    assert(!r || (!r->accounts && r->bytes[0] == 0 && r->bytes[1] == 0));
    free(r);
    return NULL;
}

int nm_quota_account_of(struct nm_quota *r, const char *who, bool privileged, struct nm_quota_account **ret)
{
    struct nm_quota_account *a;

    for (a = r->accounts; a; a = a->next)
        if (a->privileged == privileged && nm_streq(a->who, who)) {
            *ret = nm_quota_account_ref(a);
            return 0;
        }
    a = calloc(1, sizeof *a);
    if (!a)
        return -ENOMEM;
    a->who = strdup(who);
    if (!a->who) {
        free(a);
        return -ENOMEM;
    }
    a->quota = r;
    a->n_refs = 1;
    a->privileged = privileged;
    a->end = &a->first;
    a->next = r->accounts;
    r->accounts = a;
    *ret = a;
    return 0;
}

struct nm_quota_account *nm_quota_account_ref(struct nm_quota_account *a)
{
    assert(a->n_refs > 0);
    a->n_refs++;
    return a;
}

struct nm_quota_account *nm_quota_account_unref(struct nm_quota_account *a)
{
    struct nm_quota_account **p;

    if (!a || --a->n_refs > 0)
        return NULL;
    assert(a->n_connections == 0 && a->bytes == 0 && !a->first);
    for (p = &a->quota->accounts; *p != a; p = &(*p)->next)
        assert(*p);
    *p = a->next;
    free(a->who);
    free(a);
    return NULL;
}

/* ---- bytes -------------------------------------------------------------------------------- */

bool nm_quota_account_take(struct nm_quota_account *a, size_t bytes)
{
    struct nm_quota *r = a->quota;
    uint64_t left = r->bytes_max / 2 - r->bytes[a->privileged];

    assert(r->bytes[a->privileged] <= r->bytes_max / 2);
    if (bytes > left || (!a->privileged && a->bytes + bytes > left))
        return false;
    a->bytes += bytes;
    r->bytes[a->privileged] += bytes;
    return true;
}

void nm_quota_account_give(struct nm_quota_account *a, size_t bytes)
{
    assert(bytes <= a->bytes);
    a->bytes -= bytes;
    a->quota->bytes[a->privileged] -= bytes;
}

uint64_t nm_quota_account_bytes(const struct nm_quota_account *a)
{
    return a->bytes;
}

/* ---- connections -------------------------------------------------------------------------- */

void nm_quota_account_enter(struct nm_quota_account *a)
{
    a->n_connections++;
}

void nm_quota_account_leave(struct nm_quota_account *a)
{
    assert(a->n_connections > 0);
    a->n_connections--;
}

unsigned nm_quota_account_connections(const struct nm_quota_account *a)
{
    return a->n_connections;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void join_round(struct nm_quota_account *a)
{
    struct nm_quota *r = a->quota;

    a->next_in_round = NULL;
    *r->end_of_round = a;
    r->end_of_round = &a->next_in_round;
}

static void leave_round(struct nm_quota_account *a)
{
    struct nm_quota *r = a->quota;
    struct nm_quota_account **p = &r->round;

    while (*p != a) {
        assert(*p);
        p = &(*p)->next_in_round;
    }
    *p = a->next_in_round;
    if (!*p)
        r->end_of_round = p;
}

void nm_turn_wait(struct nm_turn *t, struct nm_quota_account *a)
{
    assert(!t->account && t->run_turn);
    if (!a->first)
        join_round(a);
    t->account = nm_quota_account_ref(a);
    t->next = NULL;
    *a->end = t;
    a->end = &t->next;
}

void nm_turn_cancel(struct nm_turn *t)
{
    struct nm_quota_account *a = t->account;
    struct nm_turn **p;

    if (!a)
        return;
    for (p = &a->first; *p != t; p = &(*p)->next)
        assert(*p);
    *p = t->next;
    if (!*p)
        a->end = p;
    t->account = NULL;
    if (!a->first)
        leave_round(a);
    nm_quota_account_unref(a);
}

void nm_quota_account_charge(struct nm_quota_account *a, uint64_t usec, uint64_t now_usec)
{
    if (!a->privileged)
        a->pause_until_usec = NM_MAX(a->pause_until_usec, now_usec) + usec * NM_QUOTA_PAUSE;
}

bool nm_quota_account_is_free(const struct nm_quota_account *a, uint64_t now_usec)
{
    return !a->first && a->pause_until_usec <= now_usec;
}

/* Moves the account to the end of the round first, so that the next turn belongs to another account. */
bool nm_quota_next_turn(struct nm_quota *r, uint64_t now_usec)
{
    struct nm_quota_account *a = r->round;
    struct nm_turn *t;

    while (a && a->pause_until_usec > now_usec)
        a = a->next_in_round;
    if (!a)
        return false;
    t = a->first;
    assert(t && t->account == a);
    leave_round(a);
    join_round(a);
    nm_turn_cancel(t);
    t->run_turn(t);
    return true;
}

uint64_t nm_quota_due_usec(const struct nm_quota *r)
{
    uint64_t due = UINT64_MAX;

    for (const struct nm_quota_account *a = r->round; a; a = a->next_in_round)
        due = NM_MIN(due, a->pause_until_usec);
    return due;
}
