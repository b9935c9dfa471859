/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the requests of one server share, and what the server knows of each connection. Calls and
 * streams use this; the server, which is above them, fills it in.
 */

#include <microhttpd.h>
#include <systemd/sd-event.h>

#include "rpc/local/routes.h"
#include "util/clock.h"
#include "util/quota.h"

/* One run of the library gives so much time to requests. */
#define NM_HOST_RUN_USEC (5 * NM_USEC_PER_MSEC)

struct nm_names;
struct nm_streams;

struct nm_host {
    sd_event *event;
    struct nm_manager *manager;
    struct nm_quota *ration;
    struct nm_streams *streams;
    struct nm_names *names; /* by which this node may be asked by browsers */
    const struct nm_route *routes;
    size_t n_routes;
    uint64_t timeout_usec; /* for a request to come in */
    uint64_t run_started_usec;
    /* Somebody waits for its turn. A timer that is due, since a deferred source would come ahead of
     * all others of its priority each time: it stays pending from its first time on. */
    sd_event_source *turns;
    bool stopping;          /* nobody is made to wait any more */
    bool handed_over;       /* a connection is somebody else's now: the library is to let go of it, in another run */
};

/* One accepted connection; libmicrohttpd's socket context. */
struct nm_connection {
    struct nm_host *host;
    struct nm_connection *next, **prev_next;
    int fd; /* libmicrohttpd's, once it is past the gate */
    struct nm_caller caller;
    struct nm_quota_account *account;
    bool tcp;
    sd_event_source *gate; /* it waits at the gate (gate.h), and isn't the library's yet */
    void (*passed)(struct nm_connection *c, int r);
    bool heard; /* its request has been taken in, or is being answered */
    bool is_leaving; /* it was shut down to make way for another, and the library has not seen it yet */
    uint64_t deadline_usec; /* CLOCK_BOOTTIME; shut down when it has passed. UINT64_MAX: none */
};

struct nm_connection *nm_host_connection(struct MHD_Connection *c);

/* May a request of this user's be worked on now, or has this run used up its time, or the user its
 * own? */
bool nm_host_has_time(const struct nm_host *h, const struct nm_quota_account *a);

/* Turns will be handed out in the next rounds of the loop, as soon as somebody who waits may go. */
void nm_host_want_turns(struct nm_host *h);
