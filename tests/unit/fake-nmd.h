/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server that replays canned replies, in a forked child: what a client must endure from the other
 * side of a socket can't be had from a daemon that works. Real behaviour is tested against the real
 * nmd (tests/integration).
 */

#include <stddef.h>
#include <sys/types.h>

struct fake_exchange {
    const char *request; /* what the request must begin with, such as "GET /v1/status HTTP" */
    const char *reply;   /* raw bytes; NULL: silence until the client goes */
    const char *body;    /* part of the request's body that must be there, or NULL */
};

struct fake_nmd {
    char dir[64];
    char path[96]; /* of the socket */
    pid_t pid;
};

/* Answers connections with the first exchange that fits, any number of times; an unexpected request
 * gets a 400 that quotes it. split > 0: the first `split` bytes of a reply are sent alone, and the
 * rest only when they were read. */
void fake_nmd_start(struct fake_nmd *f, const struct fake_exchange *x, size_t n, size_t split);
void fake_nmd_stop(struct fake_nmd *f);
