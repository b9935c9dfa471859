/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A failure of fail-nth.h or of failing-calls.h, for tables that have both. */

#include "tests/unit/fail-nth.h"
#include "tests/unit/failing-calls.h"

struct failure {
    unsigned kind;    /* a kind of fail-nth.h, used if `call` is NULL */
    const char *call; /* the name of a call of failing-calls.h */
    int error;        /* the errno with which `call` fails */
};

/* Makes the nth call of this kind or name fail. */
static inline void failure_arm(const struct failure *f, unsigned n)
{
    if (f->call)
        fail_call(f->call, n, f->error);
    else
        fail_nth(f->kind, n);
}

/* Ends the failures. Returns whether a call has failed. */
static inline bool failure_disarm(const struct failure *f)
{
    return f->call ? fail_call_stop() : fail_stop();
}
