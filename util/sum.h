/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* FNV-1a: tells bytes of which a crash of the host left only some on disk, or that a disk has turned. Who means to
 * deceive can. */
static inline uint32_t nm_sum(const void *bytes, size_t n)
{
    uint32_t sum = UINT32_C(2166136261);

    for (size_t i = 0; i < n; i++)
        sum = (sum ^ ((const uint8_t *)bytes)[i]) * UINT32_C(16777619);
    return sum;
}
