/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory that clients can make the server keep: frames that are being received, lists of the blocks of streams, and
 * long answers that are not read. As with connections (shuffle/connections.h), a user may have half of it, and an
 * application three quarters of that half. Several threads may use these functions.
 */

#include <stdint.h>
#include <sys/types.h>

#include "util/macros.h"

/* A block of a stream takes 4 to 20 bytes, so the streams of an application may have five million blocks. */
#define NM_SPARK_MEMORY_MAX (UINT64_C(256) << 20)

struct nm_spark_memory;

int nm_spark_memory_new(uint64_t max_bytes, struct nm_spark_memory **ret);
/* All memory must have been given back. */
struct nm_spark_memory *nm_spark_memory_free(struct nm_spark_memory *m);
NM_DEFINE_CLEANUP(struct nm_spark_memory *, nm_spark_memory_free)

/* Takes memory for an application of a user. Returns -EBUSY if one of the three limits would be exceeded, or -ENOMEM.
 * m: NULL has no limits. */
int nm_spark_memory_take(struct nm_spark_memory *m, uid_t uid, const char *app, uint64_t bytes);
/* Gives back memory that was taken for the same application and user. */
void nm_spark_memory_give(struct nm_spark_memory *m, uid_t uid, const char *app, uint64_t bytes);
