/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * GET over HTTP and HTTPS, for a worker that may wait. The server is anybody's: what it sends is bounded by kind
 * (headers, answers that are kept in memory, files), by time, and by the least that it has to send in a while.
 * Redirects are followed, a few; proxies and .netrc are not used.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

struct nm_http;

struct nm_http_request {
    const char *url;
    uint64_t most_bytes;    /* of the body of a 200 */
    uint64_t deadline_usec; /* by nm_now_usec() */
    uint64_t idle_usec;
    const char *ca_file; /* PEM: who vouches for the server, in the place of the system's store; NULL: that */
    bool stays; /* a redirect is the answer */
    int fd; /* where the body of a 200 goes; -EBADF: to memory, as others do */
    void (*progress)(void *userdata, uint64_t bytes, uint64_t total_bytes); /* or NULL */
    void *userdata;
};

struct nm_http_answer {
    long status;
    uint64_t bytes;         /* of the body */
    uint64_t modified_msec; /* Last-Modified; 0: there is none */
    const char *location;   /* where a redirect leads; NULL: it is none. Valid until the next request */
    const char *text;       /* NUL-terminated; of a body that went to a file "". Valid until the next request */
    size_t text_size;
};

/* agent is what we call ourselves. */
int nm_http_new(const char *agent, struct nm_http **ret);
struct nm_http *nm_http_free(struct nm_http *h);
NM_DEFINE_CLEANUP(struct nm_http *, nm_http_free)

/*
 * 0: there is an answer, of whatever status. Otherwise a sentence's end in *ret_message (freed by the caller), and
 *   -ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT, -EIO  the server or the way to it: perhaps later (nm_http_may_pass)
 *   -EFBIG  more than most_bytes, or than a header or a refusal may have
 *   -ELOOP  too many redirects
 *   others  ours: what can't be written (-ENOSPC ...), -EINVAL (no such URL), -ENOMEM
 */
int nm_http_get(struct nm_http *h, const struct nm_http_request *request, struct nm_http_answer *ret,
                char **ret_message);

/* Is that a failure that may be gone in a while? */
bool nm_http_may_pass(int r);
