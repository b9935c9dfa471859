/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Arrays that grow, and the search in sorted arrays. The macros assign the pointer with its own type. A function with a
 * void ** parameter would write the object through a wrong type, which is undefined behaviour.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "util/macros.h"

/* Resizes the array `p` to n > 0 elements. Returns 0, or -ENOMEM, which leaves the array unchanged. */
#define NM_ARRAY_RESIZE(p, n) \
    ({ \
        __typeof__(p) _resized = reallocarray((p), (n), sizeof *(p)); \
        if (_resized) \
            (p) = _resized; \
        _resized ? 0 : -ENOMEM; \
    })

/* Makes room for one more element after the n elements of the array `p`. `size` is an lvalue with the allocated number
 * of elements. Returns 0, or -ENOMEM, which leaves both unchanged. */
#define NM_ARRAY_ROOM(p, n, size) \
    ({ \
        size_t _wanted = NM_MAX(2 * (size_t)(size), (size_t)8); \
        int _room = (size_t)(n) < (size_t)(size) ? 0 : NM_ARRAY_RESIZE(p, _wanted); \
        if (_room == 0 && (size_t)(n) >= (size_t)(size)) \
            (size) = (__typeof__(size))_wanted; \
        _room; \
    })

/*
 * Finds the index of the item with the given name in a list sorted by strcmp(), or the index at which to insert it.
 * Each item has `size` bytes, and its first member is the name, a char *.
 */
static inline size_t nm_bsearch_name(const void *list, size_t n, size_t size, const char *name, bool *ret_there)
{
    size_t low = 0, high = n;

    *ret_there = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *const *item = (const void *)((const char *)list + middle * size);
        int order = strcmp(*item, name);

        if (order == 0) {
            *ret_there = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
