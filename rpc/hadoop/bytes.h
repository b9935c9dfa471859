/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A reference to bytes that belong to another object, such as a frame, a file or an arena. Parsers remove bytes from
 * the front of a larger range, without copying.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct nm_bytes {
    const uint8_t *data;
    size_t size;
};

static inline struct nm_bytes nm_bytes_of(const char *text)
{
    return (struct nm_bytes){(const uint8_t *)text, strlen(text)};
}

static inline bool nm_bytes_equal(struct nm_bytes a, struct nm_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool nm_bytes_have_nul(struct nm_bytes bytes)
{
    return bytes.size > 0 && memchr(bytes.data, '\0', bytes.size);
}

/* Removes the first `size` bytes of `from` and returns them. `from` must have that many bytes. */
static inline struct nm_bytes nm_bytes_take(struct nm_bytes *from, size_t size)
{
    struct nm_bytes taken = {from->data, size};

    from->data += size;
    from->size -= size;
    return taken;
}
