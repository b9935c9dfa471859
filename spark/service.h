/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What all connections share, and the limits of the server. */

#include <stdatomic.h>

#include "shuffle/connections.h"
#include "shuffle/turns.h"
#include "spark/auth.h"
#include "spark/guests.h"
#include "spark/memory.h"

/* A frame is larger than a few KiB only if it asks for many blocks. */
#define NM_SPARK_FRAME_MAX (UINT64_C(16) << 20)
#define NM_SPARK_UNAUTHENTICATED_FRAME_MAX (UINT64_C(64) << 10)

struct nm_spark_counters {
    /* numbers of accepted connections, of connections refused for lack of a slot, and of clients that
     * read too slowly */
    atomic_uint_fast64_t connections, refused, slow;
    atomic_uint_fast64_t blocks_ok, blocks_failed, sent_bytes;
    atomic_uint_fast64_t streams; /* open now */
    atomic_uint_fast64_t chunks;  /* blocks that are being sent now */
};

/* Limits that an operator may set. 0: the server's own. */
struct nm_spark_limits {
    uint64_t chunks;       /* blocks that are sent at the same time, at all connections; 0: any number */
    uint64_t timeout_usec; /* the server closes a connection that has carried no data for this time */
};

struct nm_spark_service {
    struct nm_spark_applications *applications;
    struct nm_shuffle_index_cache *index_cache; /* NULL: no index is kept in memory */
    struct nm_spark_data_files *data_files;     /* NULL: no file is kept open */
    struct nm_spark_memory *memory;             /* NULL: no limit */
    struct nm_spark_guests *guests;             /* NULL: no limit */
    atomic_uint n_connections; /* open now */
    struct nm_spark_auth_settings auth;
    struct nm_shuffle_connections *connections;
    const struct nm_shuffle_loop *loop;
    struct nm_spark_limits limits;
    struct nm_spark_counters count;
};
