/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One system call that fails: the nth call with a given name, in this process or in a forked child, fails with `error`,
 * and all other calls are real. A test goes through n = 1, 2, ... until the code makes fewer than n such calls. Link
 * with $(failing_calls_wraps). fail-nth.h is for open(), openat() and allocations.
 */

#include <stdbool.h>

/* Starts to count calls of `name`, from 1; the nth fails. With n = 0 no call fails. */
void fail_call(const char *name, unsigned n, int error);
/* Ends the failures. Returns whether a call has failed. If so, the test must run again with n + 1. */
bool fail_call_stop(void);
/* Returns whether this call must fail, and sets errno if so. Only for test code that has its own wrapper of a call. */
bool call_fails(const char *name);
/* Called immediately when a call fails. May be NULL. */
extern void (*call_has_failed)(void);
