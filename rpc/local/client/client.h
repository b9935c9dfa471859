/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An HTTP client for nmd's UNIX socket: one connection per call, several calls pollable side by
 * side. See client.c.
 */

#include "rpc/local/client/reply.h"
#include "util/macros.h"

#define NM_CLIENT_ANSWER_MAX (UINT64_C(64) << 20) /* bytes of an answer that is kept whole */

/* Positive outcomes of nm_client_process(). */
enum {
    NM_CLIENT_E_DONE = 1, /* the reply is complete */
    NM_CLIENT_E_SWITCHED, /* of nm_client_new_upgrade(): the connection speaks the other protocol now */
};

/* Strings are read during nm_client_new() only. */
struct nm_client_request {
    const char *socket_path;
    const char *method;
    const char *target; /* path and query, already percent-encoded */
    const char *body;   /* JSON, or NULL for none */
};

/* One call under way. */
struct nm_client;

/*
 * Connects and queues the request; body_cb hears the body's bytes, whatever the status. Returns 0,
 * or: -ENOENT (no such socket), -ECONNREFUSED (nobody listens), -EACCES, -ENAMETOOLONG (over 107
 * bytes), -ETIMEDOUT (the daemon's backlog stayed full), or another -errno.
 */
int nm_client_new(const struct nm_client_request *q, nm_reply_body_cb_t body_cb, void *userdata,
                  struct nm_client **ret);
/* The same, waiting at most so long for room in the daemon's backlog. */
int nm_client_new_within(const struct nm_client_request *q, uint64_t timeout_usec, nm_reply_body_cb_t body_cb,
                         void *userdata, struct nm_client **ret);
/* The same, for a connection that is to speak `protocol` after an answer with status 101. */
int nm_client_new_upgrade(const struct nm_client_request *q, const char *protocol, nm_reply_body_cb_t body_cb,
                          void *userdata, struct nm_client **ret);
struct nm_client *nm_client_free(struct nm_client *c);
NM_DEFINE_CLEANUP(struct nm_client *, nm_client_free)

/* For poll(2). The descriptor is the call's and doesn't block. */
int nm_client_fd(const struct nm_client *c);
short nm_client_events(const struct nm_client *c);

/* Does what can be done without waiting: sends, or reads one bufferful. Returns 0 (poll again),
 * NM_CLIENT_E_DONE, NM_CLIENT_E_SWITCHED, -ECONNRESET (the connection ended first), -EBADMSG or -E2BIG (not an HTTP
 * reply), or what body_cb returned. */
int nm_client_process(struct nm_client *c);

/* HTTP status; 0 until the headers have arrived. */
unsigned nm_client_status(const struct nm_client *c);

#define NM_CLIENT_LOCATION_SIZE 128
/* After NM_CLIENT_E_SWITCHED, once: the connection, the caller's, which doesn't block and of which nothing has been
 * read beyond the answer's head. ret_location: what its header Location says, "" if it has none. */
int nm_client_switched(struct nm_client *c, char ret_location[NM_CLIENT_LOCATION_SIZE]);

/* The byte of its output with which an answer of a container's log begins, once the headers have arrived. -ENODATA: it
 * doesn't say. */
int nm_client_log_position(const struct nm_client *c, uint64_t *ret);

/* An answer kept whole. body is NUL-terminated and never NULL after success. */
struct nm_client_answer {
    unsigned status;
    char *body;
    size_t len, size;
};

void nm_client_answer_done(struct nm_client_answer *a);
/* A body_cb that gathers into a struct nm_client_answer (userdata), which starts zeroed. -E2BIG
 * beyond the bound. */
int nm_client_answer_gather(const char *data, size_t n, void *userdata);

/* Positive outcome of nm_client_upgrade(): the answer is another than 101. */
enum { NM_CLIENT_E_REFUSED = 1 };
/* All of a call for another protocol, waiting as nm_client_fetch() does. Returns 0 and *ret_fd, the caller's, as above;
 * NM_CLIENT_E_REFUSED and *ret_answer; or an error as above. */
int nm_client_upgrade(const struct nm_client_request *q, const char *protocol, uint64_t timeout_usec, int *ret_fd,
                      struct nm_client_answer *ret_answer);

/* The whole call, waiting at most timeout_usec between two signs of life (UINT64_MAX: for ever).
 * Errors as above, and -ETIMEDOUT. Signals don't interrupt it. */
int nm_client_fetch(const struct nm_client_request *q, uint64_t timeout_usec,
                    struct nm_client_answer *ret);
