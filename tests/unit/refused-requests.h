/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests to the HTTP server during which the nth allocation, event source or descriptor is refused. The client gets
 * an answer, an error or the end of the connection. It never gets an incomplete answer that looks complete. Link with
 * fail-nth.c and http-fixture.c.
 */

#include "fail-nth.h"
#include "http-fixture.h"

#define ALL_KINDS (FAIL_MEMORY | FAIL_EVENT | FAIL_OPEN)

struct request {
    const char *method, *target, *body;
    int status;
    const char *upgrade; /* value of the header Upgrade, or NULL */
    bool waits;          /* waits for the container's end */
};

void send_request(struct fixture *f, struct client *c, const struct request *a);

/* Does the same as turn() of the fixture, with failures in the server only. Returns the result of sd_event_run(). */
int turn_with_failures(struct client *c, unsigned kinds);

/* Makes one request whose nth allocation is refused. Returns the content of a complete answer with the expected status,
 * or NULL. */
char *request_with_refusal(struct fixture *f, const struct request *a, unsigned n, bool *ret_refused);

/* Sends the request repeatedly. In the nth repetition, the server's nth allocation, event source or descriptor is
 * refused. The last repetition is the first one in which the server needs fewer than n of them. Returns the number of
 * refusals. same: all complete answers must have the same content. */
unsigned each_refusal(struct fixture *f, const struct request *a, bool same);

/* Adds one object of each kind that a request can return, or that contains lists. */
void add_one_of_each(struct fixture *f);
