/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What all answers share, and the limits of the server. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shuffle/connections.h"
#include "shuffle/jobs.h"
#include "shuffle/map-output.h"
#include "shuffle/turns.h"

struct nm_shuffle_counters {
    /* numbers of accepted connections, and of connections refused for lack of a slot */
    atomic_uint_fast64_t connections, refused;
    atomic_uint_fast64_t outputs_ok, outputs_failed, sent_bytes;
};

struct nm_shuffle_service {
    struct nm_shuffle_dirs dirs;
    struct nm_shuffle_jobs *jobs;
    struct nm_shuffle_connections *connections;
    const struct nm_shuffle_loop *loop;
    uint16_t port;         /* part of the text that reducers sign */
    uint64_t request_usec; /* timeout for receiving a whole request */
    bool drops_cache;      /* parts that were read from the disk are removed from the page cache after they are sent */
    /* files that requests have found and not sent yet, and their limit; a request beyond it opens its files twice */
    atomic_uint n_kept_files;
    unsigned max_kept_files;
    struct nm_shuffle_counters count;
};

#define NM_SHUFFLE_REQUEST_USEC (10 * NM_USEC_PER_SEC)

/* Descriptors of a connection besides the kept files: its socket, the file that is sent, and those of a lookup. */
#define NM_SHUFFLE_CONNECTION_FILES 5u
/* Standard streams, the listener, refused connections, and the directories of jobs for each thread. */
#define NM_SHUFFLE_OTHER_FILES 512u
#define NM_SHUFFLE_KEPT_FILES_MAX 4096u
