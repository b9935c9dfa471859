/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A fake kernel for tests of the link sampler: it replaces libnl's socket and the calls that send and receive, and
 * answers one request after the other as the test says. All fields are 0 at the start: each call succeeds, and the
 * kernel has two links without routes. Include it after cmocka.h.
 */

#include <stdbool.h>
#include <stdint.h>

/* What the fake kernel does with a request for links. */
enum netlink_answer {
    LINKS,       /* two links, named one and two, and the end of the multipart message */
    LINK_ALONE,  /* one link, not part of a multipart message */
    INTERRUPTED, /* recvfrom() is interrupted by a signal once, then the answer is correct */
    FAILS,       /* recvfrom() fails with ENOBUFS */
    EMPTY,       /* a message without any bytes */
    TOO_LONG,    /* a message that is longer than the buffer */
    OF_ANOTHER_PROCESS, /* first a message from another process, then the correct answer */
    OF_EARLIER_REQUEST, /* first the answer to an earlier request, then the correct answer */
    WITH_UNNAMED_LINK,  /* three links, of which one has no name */
    REFUSED,            /* refused with EBUSY */
    REFUSED_TOO_SHORT,  /* refused in a message that is too short */
    ACKNOWLEDGED,       /* acknowledged, without any link */
};

struct fake_netlink {
    int alloc_fails, connect_fails, nonblocking_fails;
    unsigned send_interrupted;
    int send_fails;
    bool has_routes;
    enum netlink_answer answer; /* answer to the request for links */
    bool is_second;     /* the next call continues the answer */
    uint16_t type;      /* type and number of the request */
    uint32_t seq;
    uint64_t bytes; /* value of the counters of links */
    bool is_down;
    const char *speed; /* speed in /sys; NULL: no file */
};
extern struct fake_netlink fake_netlink;

/* Restores the state before the first request. It is the setup of a case. */
int fake_netlink_reset(void **state);
