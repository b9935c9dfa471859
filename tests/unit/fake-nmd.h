/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server that replays canned replies, in a forked child. A correct nmd does not send the broken replies that a client
 * must handle. tests/integration tests real behaviour against the real nmd.
 */

#include <stddef.h>
#include <sys/types.h>

struct fake_exchange {
    const char *request; /* beginning of the request, such as "GET /v1/status HTTP" */
    const char *reply;   /* raw bytes; NULL: no reply until the client closes */
    const char *body;    /* text that the request's body must contain, or NULL */
};

struct fake_nmd {
    char dir[64];
    char path[96]; /* path of the socket */
    pid_t pid;
};

/* Answers each request with the first exchange that matches the request. An exchange can be used any number of times.
 * An unexpected request gets a 400 that quotes it. With split > 0, the first `split` bytes of a reply are sent alone,
 * and the rest only after the client has read them. */
void fake_nmd_start(struct fake_nmd *f, const struct fake_exchange *x, size_t n, size_t split);
void fake_nmd_stop(struct fake_nmd *f);
