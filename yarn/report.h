/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a heartbeat says of the node, made of what the manager says of it. Pure. */

#include "agent/owners.h"
#include "agent/status.h"
#include "yarn/tracker.pb-c.h"

/* The manager's health may say no for a moment (a script that hasn't answered yet). To the ResourceManager that is the
 * end of every container on the node, so it hears of it only when it has lasted so long. What leaves no start a chance
 * is said at once, by nm_report_set_out(). */
#define NM_REPORT_UNHEALTHY_USEC (30 * NM_USEC_PER_SEC)

/* How long containers run, and whether the node is ill, over time. Zeroed at first. */
struct nm_report_memory {
    double run_usec; /* of opportunistic ones, the later the more */
    uint64_t n_runs;
    uint64_t unhealthy_since_usec; /* 0: it is not */
    uint64_t no_room_until_usec;   /* what came here was given back or refused; 0: nothing was */
    uint64_t no_room_told_usec;    /* when a heartbeat first said so; 0: none has yet */
};

/* An opportunistic container has ended by itself after so long. */
void nm_report_note_run(struct nm_report_memory *m, uint64_t usec);

/* An opportunistic container was given back, since nothing lets it start here. The ResourceManager sends the next ones
 * to the node with the shortest queue: for so long this one's is told as full, or until one starts. */
void nm_report_note_given_back(struct nm_report_memory *m, uint64_t now_usec, uint64_t usec);
void nm_report_note_start(struct nm_report_memory *m);
/* An opportunistic container was refused for want of room, which is told in the same way for NM_REPORT_NO_ROOM_USEC:
 * longer than NM_REPORT_HEARD_USEC, and not for long where the want was a moment's. Returns whether the ResourceManager
 * has sent it although heartbeats have said for NM_REPORT_HEARD_USEC that the queue is full: what was on its way when
 * it heard that has come by then. */
bool nm_report_note_refused(struct nm_report_memory *m, uint64_t now_usec);
#define NM_REPORT_NO_ROOM_USEC (60 * NM_USEC_PER_SEC)
#define NM_REPORT_HEARD_USEC (10 * NM_USEC_PER_SEC)

/* How long one would wait that came now: those before it, as many at a time as run now. Nobody waits: 0; not known:
 * -1, and then the ResourceManager doesn't choose by it. */
int32_t nm_report_wait_msec(const struct nm_report_memory *m, uint32_t queued, uint32_t running);

/* How many may wait here, after what the ResourceManager says: so many, or only for so long; -1 each: any. UINT32_MAX:
 * no limit, or nobody knows yet how long a wait will be. */
uint32_t nm_report_queue_limit(const struct nm_report_memory *m, int32_t max_length, int32_t max_wait_msec,
                               uint32_t running);

/* A status with all that it points to; not to be copied. */
struct nm_report {
    Yarn__NodeStatus status;
    Yarn__Health health;
    Yarn__Utilization containers_use, node_use;
    Yarn__OpportunisticStatus opportunistic;
    Hadoop__Resource offered, physical;
    int64_t own_memory_mib; /* what is offered, if it isn't put to something else */
    int32_t own_vcores;
    char health_text[200];
};

/* queue_capacity: how many opportunistic ones the cluster may send beyond those that run. */
void nm_report_make(struct nm_report *r, struct nm_report_memory *m, const struct nm_status *s,
                    uint32_t queue_capacity, uint64_t now_usec, uint64_t realtime_usec);
/* The node is unhealthy from this heartbeat on, for this reason. */
void nm_report_set_out(struct nm_report *r, const char *why);
