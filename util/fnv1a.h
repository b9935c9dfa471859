/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* FNV-1a hashes. The hashes detect accidental damage and distribute keys over buckets. The hashes aren't cryptographic:
 * collisions are easy to construct. */

static inline uint32_t nm_fnv1a_32(const void *bytes, size_t n)
{
    uint32_t hash = UINT32_C(2166136261);

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT32_C(16777619);
    return hash;
}

#define NM_FNV1A_64_BASIS UINT64_C(14695981039346656037)

/* Continues a hash. The initial value is the FNV basis, optionally mixed with a secret seed. */
static inline uint64_t nm_fnv1a_64_more(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(1099511628211);
    return hash;
}

static inline uint64_t nm_fnv1a_64(const char *text)
{
    return nm_fnv1a_64_more(NM_FNV1A_64_BASIS, text, strlen(text));
}
