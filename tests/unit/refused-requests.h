/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests to the HTTP server during which the nth allocation, event source or descriptor is refused. A client is
 * answered, refused or disconnected, but never gets a part of an answer as if it were complete. Link with fail-nth.c
 * and http-fixture.c.
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

/* Does the same as turn() of the fixture, without failures in the fixture itself. Returns the result of
 * sd_event_run(). */
int turn_with_failures(struct client *c, unsigned kinds);

/* Makes one request whose nth allocation is refused. Returns the content of a good and complete answer, or NULL. */
char *request_with_refusal(struct fixture *f, const struct request *a, unsigned n, bool *ret_refused);

/* Returns the number of possible refusals of the request. same: each complete answer has the same content. */
unsigned each_refusal(struct fixture *f, const struct request *a, bool same);

/* Adds one object of each kind that a request can return, or that has lists in it. */
void add_one_of_each(struct fixture *f);
