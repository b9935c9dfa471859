/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * Finds the index of an item with that name in a list sorted by strcmp(), or the index at which to insert it. Each
 * item has `size` bytes, and its first member is the name, a char *.
 */
static inline size_t nm_place_of_name(const void *list, size_t n, size_t size, const char *name, bool *ret_there)
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
