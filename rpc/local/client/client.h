/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An HTTP client for nmd's UNIX socket. Each call has its own connection, and several calls can be polled at the same
 * time. See client.c.
 */

#include "rpc/local/client/reply.h"
#include "util/macros.h"

#define NM_CLIENT_ANSWER_MAX (UINT64_C(64) << 20) /* maximum size of an answer that is kept in memory */

/* Positive return values of nm_client_process(). */
enum {
    NM_CLIENT_E_DONE = 1, /* the reply is complete */
    NM_CLIENT_E_SWITCHED, /* nm_client_new_upgrade() only: the connection now uses the other protocol */
};

/* The strings must be valid during nm_client_new() only. */
struct nm_client_request {
    const char *socket_path;
    const char *method;
    const char *target; /* path and query, already percent-encoded */
    const char *body;   /* JSON; NULL: the request has no body */
};

/* A call in progress. */
struct nm_client;

/*
 * Connects and queues the request. body_cb receives the body of the answer, whatever its status. Returns 0, -ENOENT
 * (the socket doesn't exist), -ECONNREFUSED (no process listens), -EACCES, -ENAMETOOLONG (path over 107 bytes),
 * -ETIMEDOUT (the daemon's backlog stayed full), or another -errno.
 */
int nm_client_new(const struct nm_client_request *q, nm_reply_body_cb_t body_cb, void *userdata,
                  struct nm_client **ret);
/* Starts a call as nm_client_new() does, and waits at most timeout_usec for room in the daemon's backlog. */
int nm_client_new_within(const struct nm_client_request *q, uint64_t timeout_usec, nm_reply_body_cb_t body_cb,
                         void *userdata, struct nm_client **ret);
/* Starts a call as nm_client_new() does, on a connection that switches to `protocol` after an answer with status
 * 101. */
int nm_client_new_upgrade(const struct nm_client_request *q, const char *protocol, nm_reply_body_cb_t body_cb,
                          void *userdata, struct nm_client **ret);
struct nm_client *nm_client_free(struct nm_client *c);
NM_DEFINE_CLEANUP(struct nm_client *, nm_client_free)

/* Return the arguments for poll(2). The descriptor is non-blocking and is owned by the call. */
int nm_client_fd(const struct nm_client *c);
short nm_client_events(const struct nm_client *c);

/* Sends data or reads one buffer of data, without blocking. Returns 0 (poll again), NM_CLIENT_E_DONE,
 * NM_CLIENT_E_SWITCHED, -ECONNRESET (the connection ended before the reply was complete), -EBADMSG or -E2BIG (not an
 * HTTP reply), or the error of body_cb. */
int nm_client_process(struct nm_client *c);

/* Returns the HTTP status, or 0 until the headers have arrived. */
unsigned nm_client_status(const struct nm_client *c);

#define NM_CLIENT_LOCATION_SIZE 128
/* Returns the non-blocking connection after NM_CLIENT_E_SWITCHED; the caller owns it. Must be called only once. Only
 * the head of the answer has been read from the connection. ret_location: value of the header Location, "" if the
 * header is missing. */
int nm_client_switched(struct nm_client *c, char ret_location[NM_CLIENT_LOCATION_SIZE]);

/* Gets the position in the container's output at which an answer with a log begins, in bytes. The position is valid
 * after the headers have arrived. Returns 0, or -ENODATA if the answer has no such header. */
int nm_client_log_position(const struct nm_client *c, uint64_t *ret);

/* A complete answer. After success body isn't NULL and ends with NUL. */
struct nm_client_answer {
    unsigned status;
    char *body;
    size_t len, size;
};

void nm_client_answer_done(struct nm_client_answer *a);
/* A body_cb that collects the body. userdata: a struct nm_client_answer, zeroed before the call. Returns -E2BIG if the
 * body exceeds NM_CLIENT_ANSWER_MAX. */
int nm_client_answer_gather(const char *data, size_t n, void *userdata);

/* Positive return value of nm_client_upgrade(): the status isn't 101. */
enum { NM_CLIENT_E_REFUSED = 1 };
/* Runs a complete call that switches to another protocol. Blocks as nm_client_fetch() does. Returns 0 and the
 * connection in *ret_fd, which the caller owns; NM_CLIENT_E_REFUSED and *ret_answer; or an error of
 * nm_client_fetch(). */
int nm_client_upgrade(const struct nm_client_request *q, const char *protocol, uint64_t timeout_usec, int *ret_fd,
                      struct nm_client_answer *ret_answer);

/* Runs a complete call. Waits at most timeout_usec for each further piece of data (UINT64_MAX: no limit). Returns the
 * errors of nm_client_new() and nm_client_process(), and -ETIMEDOUT. Signals don't interrupt the call. */
int nm_client_fetch(const struct nm_client_request *q, uint64_t timeout_usec,
                    struct nm_client_answer *ret);
