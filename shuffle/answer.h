/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The answer to a reducer, in the format of Hadoop's ShuffleHandler:
 *
 *   HTTP/1.1 200 OK
 *   name, version   as in the request
 *   ReplyHash       base64(HMAC-SHA1(the job's key, the request's UrlHash))
 *   and per map     Text attempt | vlong part's length | vlong raw length | vint reducer | the part, as stored
 *
 * Hadoop's handler does not support a range of reducers; a range is answered as Tez' handler does:
 *
 *   and per map     vint number of reducers | for each: Text attempt | ... | vint reducer | the parts of all
 *
 * All maps are looked up before the first byte is sent: if a map is missing, the reducer receives a 500, and the
 * connection does not break in the middle.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shuffle/jobs.h"
#include "shuffle/map-output.h"
#include "shuffle/connections.h"
#include "shuffle/request.h"

struct nm_shuffle_counters {
    /* numbers of accepted connections, and of connections refused for lack of a slot */
    atomic_uint_fast64_t connections, refused;
    atomic_uint_fast64_t outputs_ok, outputs_failed, sent_bytes;
};

struct nm_shuffle_service {
    struct nm_shuffle_dirs dirs;
    struct nm_shuffle_jobs *jobs;
    struct nm_shuffle_connections *connections;
    uint16_t port;         /* part of the text that reducers sign */
    uint64_t request_usec; /* timeout for receiving a whole request */
    bool drops_cache;      /* parts that were read from the disk are removed from the page cache after they are sent */
    /* files that requests have found and not sent yet, and their limit; a request beyond it opens its files twice */
    atomic_uint n_kept_files;
    unsigned max_kept_files;
    struct nm_shuffle_counters count;
};

#define NM_SHUFFLE_REQUEST_USEC (10 * NM_USEC_PER_SEC)

/* Descriptors of a connection besides the kept files: its socket, and those of a lookup. */
#define NM_SHUFFLE_CONNECTION_FILES 5u
#define NM_SHUFFLE_OTHER_FILES 256u /* standard streams, the listener, and refused connections */
#define NM_SHUFFLE_KEPT_FILES_MAX 4096u

enum { NM_SHUFFLE_E_CLOSE = 1 };

/* Answers the request of the connection fd, which has the slot. Returns 0 if the connection may stay open,
 * NM_SHUFFLE_E_CLOSE if it must close, -errno if the connection broke or was too slow. */
int nm_shuffle_answer(struct nm_shuffle_service *s, int fd, unsigned slot, struct nm_bytes head);

/* Refuses a request. Returns the results of nm_shuffle_answer() except 0: the connection is always closed
 * afterwards. */
int nm_shuffle_refuse(int fd, enum nm_shuffle_status status, const char *why);
