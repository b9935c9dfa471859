/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Makes the heartbeat's description of the node from the manager's status. The code is pure. */

#include "agent/owners.h"
#include "agent/status.h"
#include "yarn/tracker.pb-c.h"

/* Time for which the manager's health must be bad before the node reports it. The health can be bad for a moment, for
 * example while a script hasn't answered yet, but the ResourceManager ends every container on an unhealthy node. A
 * state in which no container can start is reported at once, by nm_report_set_out(). */
#define NM_REPORT_UNHEALTHY_USEC (30 * NM_USEC_PER_SEC)

/* State between heartbeats: run times of containers, and health over time. All zero at first. */
struct nm_report_memory {
    double run_usec; /* moving average of the run times of opportunistic containers */
    uint64_t n_runs;
    uint64_t unhealthy_since_usec; /* 0 if the node is healthy */
    uint64_t no_room_until_usec;   /* until when the queue is reported as full; 0: not reported as full */
    uint64_t no_room_told_usec;    /* when a heartbeat first reported a full queue; 0: not yet */
};

/* Notes the run time of an opportunistic container that ended by itself. */
void nm_report_note_run(struct nm_report_memory *m, uint64_t usec);

/* Notes that an opportunistic container was given back because it can't start here. The ResourceManager sends the next
 * containers to the node with the shortest queue, so this node's queue is reported as full for `usec`, or until a
 * container starts. */
void nm_report_note_given_back(struct nm_report_memory *m, uint64_t now_usec, uint64_t usec);
void nm_report_note_start(struct nm_report_memory *m);
/* Notes that an opportunistic container was refused for lack of room. The queue is then reported as full for
 * NM_REPORT_NO_ROOM_USEC, which is longer than NM_REPORT_HEARD_USEC, but short if the lack was temporary. Returns true
 * if the ResourceManager sent the container although heartbeats have reported a full queue for NM_REPORT_HEARD_USEC.
 * Containers that were already under way at the first report have arrived by then. */
bool nm_report_note_refused(struct nm_report_memory *m, uint64_t now_usec);
#define NM_REPORT_NO_ROOM_USEC (60 * NM_USEC_PER_SEC)
#define NM_REPORT_HEARD_USEC (10 * NM_USEC_PER_SEC)

/* Returns the estimated wait of a new container: the queued containers start in groups as large as the number that runs
 * now. 0: the queue is empty; -1: the wait is unknown, and the ResourceManager doesn't choose this node by its wait. */
int32_t nm_report_wait_msec(const struct nm_report_memory *m, uint32_t queued, uint32_t running);

/* Returns how many containers may be queued here, given the ResourceManager's limits of length and wait; a limit of -1
 * means no limit. UINT32_MAX: no limit, or the wait can't be estimated yet. */
uint32_t nm_report_queue_limit(const struct nm_report_memory *m, int32_t max_length, int32_t max_wait_msec,
                               uint32_t running);

/* A status with all objects that it points to. A report must not be copied. */
struct nm_report {
    Yarn__NodeStatus status;
    Yarn__Health health;
    Yarn__Utilization containers_use, node_use;
    Yarn__OpportunisticStatus opportunistic;
    Hadoop__Resource offered, physical;
    int64_t own_memory_mib; /* nmd's own size, which is offered unless `offered` has other values */
    int32_t own_vcores;
    char health_text[200];
};

/* queue_capacity: how many opportunistic containers the cluster may send beyond the running ones. */
void nm_report_make(struct nm_report *r, struct nm_report_memory *m, const struct nm_status *s,
                    uint32_t queue_capacity, uint64_t now_usec, uint64_t realtime_usec);
/* Reports the node as unhealthy with this heartbeat, for this reason. */
void nm_report_set_out(struct nm_report *r, const char *why);
