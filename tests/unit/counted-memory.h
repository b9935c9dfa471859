/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Functions for json_set_alloc_funcs(). They count the bytes that a parser has allocated, and record the maximum. */

#include <malloc.h>
#include <stdlib.h>

#include "util/macros.h"

static size_t held, peak;

/* Counts the allocator's header, too, because nmd counts the header as memory that it uses. */
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
