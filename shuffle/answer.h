/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a reducer gets, as Hadoop's ShuffleHandler gives it:
 *
 *   HTTP/1.1 200 OK
 *   name, version   as in the request
 *   ReplyHash       base64(HMAC-SHA1(the job's key, the request's UrlHash))
 *   and per map     Text attempt | vlong part's length | vlong raw length | vint reducer | the part, as it lies there
 *
 * Hadoop's handler takes no range of reducers; it is answered as Tez' handler does:
 *
 *   and per map     vint number of reducers | for each: Text attempt | ... | vint reducer | the parts of all
 *
 * All maps are looked up before the first byte goes out: a reducer that misses one is told so with 500, and no
 * connection breaks in the middle for it.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "shuffle/jobs.h"
#include "shuffle/output.h"
#include "shuffle/connections.h"
#include "shuffle/request.h"

struct nm_shuffle_counters {
    atomic_uint_fast64_t connections, refused; /* made; turned away for want of a place */
    atomic_uint_fast64_t outputs_ok, outputs_failed, sent_bytes;
};

struct nm_shuffle_service {
    struct nm_shuffle_dirs dirs;
    struct nm_shuffle_jobs *jobs;
    struct nm_shuffle_connections *places;
    uint16_t port;         /* what reducers sign has it */
    uint64_t request_usec; /* who needs longer for a whole request only holds the place */
    struct nm_shuffle_counters count;
};

#define NM_SHUFFLE_REQUEST_USEC (10 * NM_USEC_PER_SEC)

enum { NM_SHUFFLE_E_CLOSE = 1 };

/* Answers the request of the connection fd, which has the place. 0: the connection may stay; NM_SHUFFLE_E_CLOSE: not;
 * -errno: it broke, or was too slow. */
int nm_shuffle_answer(struct nm_shuffle_service *s, int fd, unsigned place, struct nm_bytes head);

/* A refusal. As above, but it is never to stay. */
int nm_shuffle_refuse(int fd, enum nm_shuffle_status status, const char *why);
