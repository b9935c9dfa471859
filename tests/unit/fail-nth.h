/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One failure at a time: of the calls that this thread makes to the C library and libsystemd, the nth that can fail for
 * want of something does, and all others are real. A test goes through n = 1, 2, ... until there is no nth any more:
 * so each error path is taken, with all that has to be undone there. Link with $(fail_nth_wraps).
 */

#include <stdbool.h>

enum fail_kind {
    FAIL_MEMORY = 1 << 0, /* of the C library: ENOMEM */
    FAIL_BUS = 1 << 1,    /* what sd-bus builds and sends: -ENOMEM */
    FAIL_EVENT = 1 << 2,  /* sources of sd-event: -ENOMEM */
    FAIL_OPEN = 1 << 3,   /* descriptors: EMFILE */
    /* of fail-files.c; link with $(fail_files_wraps), too */
    FAIL_FILES = 1 << 4,   /* what is done with files: EIO, and to write: ENOSPC */
    FAIL_PROCESS = 1 << 5, /* pipes and processes: EAGAIN */
    FAIL_CHILD = 1 << 6,   /* what a child does before it executes: EPERM */
};

/* From now on, counted from 1; 0: nothing fails. */
void fail_nth(unsigned kinds, unsigned n);
/* Nothing fails any more. True if something had: there may be a next one. */
bool fail_stop(void);
/* For functions that a test wraps itself: counts one more, and says whether it is the one that fails. */
bool fail_here(enum fail_kind kind);
/* What a test does itself in between isn't counted: what fail_pause() tells is fail_resume()'s. */
unsigned fail_pause(void);
void fail_resume(unsigned kinds);

/* Has each piece of memory that try() needs refused once, one at a time. Each time it must fail with -ENOMEM, having
 * left nothing behind (a build with sanitizers looks); with all of them it must succeed. Tells how many there are. */
unsigned fail_each(int (*try)(void *userdata), void *userdata);
/* The same of other kinds, where it is up to try() how it must end. */
unsigned fail_each_of(unsigned kinds, void (*try)(void *userdata), void *userdata);
