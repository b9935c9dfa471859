/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Decimal numbers in names and ids. */

#include "rpc/hadoop/bytes.h"

/* Removes a number of at least one digit from the front of `from`. On failure (-EBADMSG: no digit; -ERANGE: the number
 * is larger than max) `from` is unchanged. */
int nm_spark_take_number(struct nm_bytes *from, uint64_t max, uint64_t *ret);

/* Writes a number of at most 20 characters without a NUL, and returns the end of it. */
char *nm_spark_write_number(int64_t number, char *to);
