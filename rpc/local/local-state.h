/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The state that all requests of a server share, and the server's data about each connection. Calls and streams use
 * this state. server.c, the layer above them, initializes it. connections.c makes the connections.
 */

#include <microhttpd.h>
#include <systemd/sd-event.h>

#include "rpc/local/routes.h"
#include "util/clock.h"
#include "util/quota.h"

/* Time for processing requests in one run of libmicrohttpd. */
#define NM_HOST_RUN_USEC (5 * NM_USEC_PER_MSEC)
/* Time for reading an answer, or a piece of a stream, as a multiple of the time for a request. */
#define NM_HOST_SEND_TIMEOUTS 4u

struct nm_names;
struct nm_streams;

struct nm_local_state {
    sd_event *event;
    struct nm_manager *manager;
    struct nm_quota *quota;
    struct nm_streams *streams;
    struct nm_names *names; /* names by which browsers may address this node */
    const struct nm_route *routes;
    size_t n_routes;
    uint64_t timeout_usec; /* time limit for receiving a request */
    uint64_t run_started_usec;
    /* Timer that is due while requests wait for their turns. A deferred event source would stay pending and would
     * always run before the other sources of its priority (util/loop.h). */
    sd_event_source *turns;
    bool stopping;          /* requests no longer wait for their turns */
    bool handed_over;       /* an upgraded connection exists that libmicrohttpd releases only in another run */
};

/* An accepted connection. This struct is libmicrohttpd's socket context. */
struct nm_connection {
    struct nm_local_state *host;
    struct nm_connection *next, **prev_next;
    int fd; /* owned by libmicrohttpd after the gate */
    struct nm_caller caller;
    struct nm_quota_account *account;
    bool tcp;
    sd_event_source *gate; /* event source while the connection waits at the gate (gate.c) and libmicrohttpd doesn't
                              have it yet */
    void (*passed)(struct nm_connection *c, int r);
    bool has_request; /* the connection's request is complete or is being answered */
    bool is_leaving; /* the connection was shut down to make room for another one; libmicrohttpd hasn't read the end
                        yet */
    uint64_t deadline_usec; /* CLOCK_BOOTTIME after which the connection is shut down; UINT64_MAX: no time limit */
};
