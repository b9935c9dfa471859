/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One system call that fails: of those with that name that are made from now on, by this process or those that it
 * forks, the nth gives `error`, and all others are real. A test goes through n = 1, 2, ... until there is no nth any
 * more. Link with $(failing_calls_wraps); open, openat and memory are fail-nth.h's.
 */

#include <stdbool.h>

/* From now on, counted from 1; 0: nothing fails. */
void fail_call(const char *name, unsigned n, int error);
/* Nothing fails any more. True if something had: there may be a next one. */
bool fail_call_stop(void);
/* For who stands in for a call in another way: has this one to fail? Sets errno then. */
bool call_fails(const char *name);
/* Told at once when a call has failed. */
extern void (*call_has_failed)(void);
