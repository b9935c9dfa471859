/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Bytes in hexadecimal, for tests of Spark's protocol. Include it after cmocka.h. */

#include <string.h>

#include "rpc/hadoop/writable.h"
#include "util/parse.h"

/* Returns bytes that are valid until the next calls with the same buffer. */
static inline struct nm_bytes spark_bytes(const char *hex, uint8_t *buffer, size_t size)
{
    const size_t n = strlen(hex) / 2;

    assert_true(n <= size);
    for (size_t i = 0; i < n; i++)
        buffer[i] = (uint8_t)(nm_hex_digit(hex[2 * i]) << 4 | nm_hex_digit(hex[2 * i + 1]));
    return (struct nm_bytes){buffer, n};
}

/* Checks what a writer has, and empties it. */
static inline void assert_written(struct nm_writer *w, const char *hex)
{
    uint8_t expected[1024];
    const struct nm_bytes bytes = spark_bytes(hex, expected, sizeof expected);
    struct nm_bytes written;

    assert_int_equal(nm_writer_result(w, &written), 0);
    assert_int_equal(written.size, bytes.size);
    assert_memory_equal(written.data, bytes.data, bytes.size);
    nm_writer_done(w);
}
