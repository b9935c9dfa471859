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
};

/* From now on, counted from 1. */
void fail_nth(unsigned kinds, unsigned n);
/* Nothing fails any more. True if something had: there may be a next one. */
bool fail_stop(void);
