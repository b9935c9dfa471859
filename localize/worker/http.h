/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests over HTTP and HTTPS, for a worker that may block. The server is untrusted. Its responses have limits on the
 * size (of headers, of answers kept in memory, of files), on the time, and on the minimum transfer rate. A few
 * redirects are followed; proxies and .netrc aren't used.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/macros.h"

struct nm_http;

/* The body of a PUT or POST, which is sent in chunks, so that its size needn't be known. */
struct nm_http_body {
    /* Stores up to n bytes. Returns their number, 0 at the end, or -errno, which fails the request. */
    ssize_t (*read)(void *userdata, char *buf, size_t n);
    /* Begins again with the first byte. Returns 0 or -errno. */
    int (*restart)(void *userdata);
    void *userdata;
};

struct nm_http_request {
    const char *url;
    const char *method;              /* NULL: GET; "PUT", "POST" or "DELETE" */
    const struct nm_http_body *body; /* only for PUT and POST; NULL: the body is empty */
    uint64_t most_bytes;    /* limit on the body of a 200 */
    uint64_t deadline_usec; /* deadline of the request, by nm_now_usec() */
    uint64_t idle_usec;
    const char *ca_file; /* PEM: CA certificates that replace the system's store; NULL: use the system's store */
    bool returns_redirect; /* return a redirect as the answer, without following it */
    int fd; /* receives the body of a 200; -EBADF: this body is kept in memory, as the bodies of other statuses are */
    /* May be NULL. Is called at least once a second while a body goes to fd (bytes of total_bytes), and while `body` is
     * sent (bytes; total_bytes is 0). */
    void (*progress)(void *userdata, uint64_t bytes, uint64_t total_bytes);
    void *userdata;
};

struct nm_http_answer {
    long status;
    uint64_t bytes;         /* size of the body */
    uint64_t modified_msec; /* Last-Modified; 0 if the answer has no such header */
    const char *location;   /* target of a redirect; NULL if the answer is no redirect. Valid until the next request */
    const char *text;       /* NUL-terminated body; "" if the body went to a file. Valid until the next request */
    size_t text_size;
};

/* agent: the value of the User-Agent header. */
int nm_http_new(const char *agent, struct nm_http **ret);
struct nm_http *nm_http_free(struct nm_http *h);
NM_DEFINE_CLEANUP(struct nm_http *, nm_http_free)

/*
 * Returns 0 if the server has answered, with any status. Otherwise returns the end of a sentence in *ret_message (freed
 * by the caller), and
 *   -ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT, -EIO  a failure of the server or the network (see nm_http_may_pass)
 *   -EFBIG  the answer is larger than most_bytes, or than the limit for headers or for bodies of other statuses
 *   -ELOOP  too many redirects
 *   others  errors of `body`, and local failures: writing the file (-ENOSPC ...), -EINVAL (invalid URL), -ENOMEM
 */
int nm_http_perform(struct nm_http *h, const struct nm_http_request *request, struct nm_http_answer *ret,
                    char **ret_message);

/* Returns whether the failure may be temporary. */
bool nm_http_may_pass(int r);
