/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* FNV-1a hashes. They detect accidental damage and spread keys, but anybody can construct collisions. */

static inline uint32_t nm_fnv1a_32(const void *bytes, size_t n)
{
    uint32_t hash = UINT32_C(2166136261);

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT32_C(16777619);
    return hash;
}

static inline uint64_t nm_fnv1a_64(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(1099511628211);
    return hash;
}
