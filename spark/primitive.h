/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The values from which Spark's frames and messages are made (org.apache.spark.network.protocol.Encoders). Integers
 * are big endian, in two's complement. A text is an int32 with its number of bytes, and UTF-8. An array is an int32
 * with its number of items, and the items.
 */

#include "rpc/hadoop/bytes.h"
#include "rpc/hadoop/writable.h"

/* Readers remove a value from the front of `from`. On failure (-EBADMSG: `from` is too short, or a size is negative)
 * `from` is unchanged. */
int nm_spark_take_u8(struct nm_bytes *from, uint8_t *ret);
int nm_spark_take_i32(struct nm_bytes *from, int32_t *ret);
int nm_spark_take_i64(struct nm_bytes *from, int64_t *ret);
int nm_spark_take_text(struct nm_bytes *from, struct nm_bytes *ret);
/* Removes the number of items of an array, and checks that `from` has at least so many bytes for each item. */
int nm_spark_take_count(struct nm_bytes *from, size_t item_bytes, uint32_t *ret);

/* Writers append values. */
void nm_spark_put_u8(struct nm_writer *w, uint8_t value);
void nm_spark_put_i32(struct nm_writer *w, int32_t value);
void nm_spark_put_i64(struct nm_writer *w, int64_t value);
void nm_spark_put_text(struct nm_writer *w, struct nm_bytes text);
