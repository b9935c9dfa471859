/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Functions for json_set_alloc_funcs() that count the bytes that a parser holds, and the largest number so far. */

#include <malloc.h>
#include <stdlib.h>

#include "util/macros.h"

static size_t held, peak;

/* Counts the allocator's header, too, since the header counts towards the memory that nmd holds. */
static void *counted(size_t n)
{
    void *p = malloc(n);

    held += p ? malloc_usable_size(p) + sizeof(size_t) : 0;
    peak = NM_MAX(peak, held);
    return p;
}

static void uncounted(void *p)
{
    held -= p ? malloc_usable_size(p) + sizeof(size_t) : 0;
    free(p);
}
