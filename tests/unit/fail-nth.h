/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One failure at a time: the nth call of the chosen kinds that this thread makes to the C library or libsystemd fails,
 * and all other calls are real. A test goes through n = 1, 2, ... until the code makes fewer than n such calls. In this
 * way the test runs each error path, including the cleanup on this path. Link with $(fail_nth_wraps).
 */

#include <stdbool.h>

enum fail_kind {
    FAIL_MEMORY = 1 << 0, /* allocations of the C library: ENOMEM */
    FAIL_BUS = 1 << 1,    /* functions of sd-bus: -ENOMEM */
    FAIL_EVENT = 1 << 2,  /* new sources of sd-event: -ENOMEM */
    FAIL_OPEN = 1 << 3,   /* new descriptors: EMFILE */
    /* The kinds below are in fail-files.c; link with $(fail_files_wraps), too. */
    FAIL_FILES = 1 << 4,   /* calls for files: EIO; write(): ENOSPC */
    FAIL_PROCESS = 1 << 5, /* new pipes and processes: EAGAIN */
    FAIL_CHILD = 1 << 6,   /* calls of a child before exec: EPERM */
};

/* Starts to count calls of these kinds, from 1; the nth fails. With n = 0 no call fails. */
void fail_nth(unsigned kinds, unsigned n);
/* Ends the failures. Returns whether a call has failed. If so, the test must run again with n + 1. */
bool fail_stop(void);
/* Counts one call of a function that a test wraps itself. Returns whether this call is the one that fails. */
bool fail_here(enum fail_kind kind);
/* Exclude the test's own calls between fail_pause() and fail_resume() from the count. fail_resume() takes the result of
 * fail_pause(). */
unsigned fail_pause(void);
void fail_resume(unsigned kinds);

/* Calls try() once for each of its allocations, and lets this allocation fail. try() must then return -ENOMEM and free
 * all its memory, which the sanitizers check. If no allocation fails, try() must return 0. Returns the number of
 * allocations. */
unsigned fail_each(int (*try)(void *userdata), void *userdata);
/* Does the same as fail_each() with other kinds of failures. try() must check its own result. */
unsigned fail_each_of(unsigned kinds, void (*try)(void *userdata), void *userdata);
