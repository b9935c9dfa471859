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
 *
 * An answer never waits, except for the disk: it stops where it must wait for the reducer or for its job's share, and
 * continues later, possibly in another thread. So a reducer that does not read occupies no thread.
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

/* Descriptors of a connection besides the kept files: its socket, the file that is sent, and those of a lookup. */
#define NM_SHUFFLE_CONNECTION_FILES 5u
/* Standard streams, the listener, refused connections, and the directories of jobs for each thread. */
#define NM_SHUFFLE_OTHER_FILES 512u
#define NM_SHUFFLE_KEPT_FILES_MAX 4096u

struct nm_shuffle_answer;

/* Begins the answer to the request of the connection fd, which has the slot and does not block. The head must exist as
 * long as the answer. Returns 0 or -ENOMEM. */
int nm_shuffle_answer_new(struct nm_shuffle_service *s, int fd, unsigned slot, struct nm_bytes head,
                          struct nm_shuffle_answer **ret);
/* Ends the answer. An answer that is not complete counts as failed if its maps were being sent. Returns NULL. */
struct nm_shuffle_answer *nm_shuffle_answer_free(struct nm_shuffle_answer *a);
NM_DEFINE_CLEANUP(struct nm_shuffle_answer *, nm_shuffle_answer_free)

/* NM_SHUFFLE_E_CLOSE: the answer is complete, and the connection must close. NM_SHUFFLE_E_WAIT: the answer must
 * continue after a wait. NM_SHUFFLE_E_TURN: it can continue, but has run for so long that others should run first. */
enum { NM_SHUFFLE_E_CLOSE = 1, NM_SHUFFLE_E_WAIT, NM_SHUFFLE_E_TURN };

/* What an answer waits for: events of poll() on its connection, or the time. The events are 0 if only the time counts.
 * A reducer that disconnects during the wait ends the answer. */
struct nm_shuffle_wait {
    short events;
    uint64_t until_usec;
};

/* Continues the answer. Returns 0 if it is complete and the connection may stay open, an outcome above, or -errno if
 * the connection broke or was too slow. */
int nm_shuffle_answer_continue(struct nm_shuffle_answer *a, struct nm_shuffle_wait *ret_wait);

/* Waits in the calling thread until the wait is over, for at most max_usec. Returns 0 if it is over, -EAGAIN if it is
 * not, -ECONNRESET if the other side has closed or the connection was shut down. Received bytes stay in the socket. */
int nm_shuffle_wait_in_thread(int fd, const struct nm_shuffle_wait *wait, uint64_t max_usec);

/* Refuses the connection's request. Returns the results of nm_shuffle_answer_continue() except 0. */
int nm_shuffle_refuse(int fd, enum nm_shuffle_status status, const char *why);
