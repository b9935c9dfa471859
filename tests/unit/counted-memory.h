/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For json_set_alloc_funcs(): how much a parser holds, and the most that it has held. */

#include <malloc.h>
#include <stdlib.h>

#include "util/macros.h"

static size_t held, peak;

/* With the allocator's own header, as it counts towards what nmd holds. */
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
