/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fills the heartbeat's description of the node from the manager's status, and limits early heartbeats. The code is
 * pure. */

#include "agent/owners.h"
#include "agent/status.h"
#include "yarn/tracker.pb-c.h"

/* Time for which the manager's health must be bad before the node reports that it is unhealthy. The health can be bad
 * for a moment, for example while a script hasn't answered yet, but the ResourceManager ends every container on an
 * unhealthy node. If no container can start, nm_yarn_heartbeat_set_out() reports the node as unhealthy immediately. */
#define NM_YARN_HEARTBEAT_UNHEALTHY_USEC (30 * NM_USEC_PER_SEC)

/* State that is kept between heartbeats: the run times of containers, and the health over time. All members are zero at
 * first. */
struct nm_yarn_heartbeat_memory {
    double run_usec; /* moving average of the run times of opportunistic containers */
    uint64_t n_runs;
    uint64_t unhealthy_since_usec; /* when the node became unhealthy; 0 if the node is healthy */
    uint64_t no_room_until_usec;   /* the queue is reported as full until this time; 0: not reported as full */
    uint64_t no_room_reported_usec; /* when a heartbeat first reported that the queue is full; 0: not yet */
};

/* Records the run time of an opportunistic container that exited without being ended by nmd or a user. */
void nm_yarn_heartbeat_note_run(struct nm_yarn_heartbeat_memory *m, uint64_t usec);

/* Records that the node gave an opportunistic container back, because it can't start on this node. The ResourceManager
 * sends the next containers to the node with the shortest queue. So this node's queue is reported as full for `usec`,
 * or until a container starts. */
void nm_yarn_heartbeat_note_given_back(struct nm_yarn_heartbeat_memory *m, uint64_t now_usec, uint64_t usec);
void nm_yarn_heartbeat_note_start(struct nm_yarn_heartbeat_memory *m);
/* Records that an opportunistic container was refused for lack of room. The queue is then reported as full for
 * NM_YARN_HEARTBEAT_NO_ROOM_USEC. This time is short, because the lack of room may end soon, but longer than
 * NM_YARN_HEARTBEAT_IN_FLIGHT_USEC. Returns true if the ResourceManager sent the container although heartbeats have
 * reported a full queue for NM_YARN_HEARTBEAT_IN_FLIGHT_USEC. By then, all containers that were sent before the first
 * such heartbeat have arrived. */
bool nm_yarn_heartbeat_note_refused(struct nm_yarn_heartbeat_memory *m, uint64_t now_usec);
#define NM_YARN_HEARTBEAT_NO_ROOM_USEC (60 * NM_USEC_PER_SEC)
#define NM_YARN_HEARTBEAT_IN_FLIGHT_USEC (10 * NM_USEC_PER_SEC)

/* Returns the estimated wait of a new container. The estimate assumes that the queued containers start in groups whose
 * size is the number of containers that run now. 0: the queue is empty; -1: the wait is unknown, and the
 * ResourceManager doesn't choose this node by its wait. */
int32_t nm_yarn_heartbeat_wait_msec(const struct nm_yarn_heartbeat_memory *m, uint32_t queued, uint32_t running);

/* Returns how many containers may be queued on this node, given the ResourceManager's limits of queue length and wait.
 * A limit of -1 means no limit. UINT32_MAX: no limit, or the wait can't be estimated yet. */
uint32_t nm_yarn_heartbeat_queue_limit(const struct nm_yarn_heartbeat_memory *m, int32_t max_length,
                                       int32_t max_wait_msec, uint32_t running);

/* Limits the heartbeats that are sent before their regular time to report a change. NM_YARN_EARLY_BURST of them can
 * follow each other without a pause, further ones at intervals of NM_YARN_EARLY_USEC. So the end of a container is
 * reported immediately, even shortly after another end, and a job whose tasks end in quick succession causes at most
 * ten early heartbeats per second. The member is zero at first. */
#define NM_YARN_EARLY_BURST 5u
#define NM_YARN_EARLY_USEC (100 * NM_USEC_PER_MSEC)
struct nm_yarn_early {
    uint64_t full_usec; /* when NM_YARN_EARLY_BURST early heartbeats are allowed again */
};
/* Returns when the next early heartbeat may be sent, now_usec at the earliest. */
uint64_t nm_yarn_early_due(const struct nm_yarn_early *e, uint64_t now_usec);
/* Records that an early heartbeat was scheduled. */
void nm_yarn_early_use(struct nm_yarn_early *e, uint64_t now_usec);

/* Size of a health report. The ResourceManager keeps the report of each node. */
#define NM_YARN_HEALTH_SIZE 1024u

/* A status, with all objects that the status points to. It must not be copied, because its pointers would still
 * point into the original. */
struct nm_yarn_heartbeat {
    Yarn__NodeStatus status;
    Yarn__Health health;
    Yarn__Utilization containers_use, node_use;
    Yarn__OpportunisticStatus opportunistic;
    Hadoop__Resource offered, physical;
    int64_t own_memory_mib; /* nmd's own value for the node's size; offered unless `offered` is set */
    int32_t own_vcores;
    char health_text[NM_YARN_HEALTH_SIZE];
};

/* queue_capacity: how many opportunistic containers the queue may hold, in addition to running containers. */
void nm_yarn_heartbeat_make(struct nm_yarn_heartbeat *r, struct nm_yarn_heartbeat_memory *m, const struct nm_status *s,
                            uint32_t queue_capacity, uint64_t now_usec, uint64_t realtime_usec);
/* Adds the report about the directories to the health report, whether the node is healthy or not. */
void nm_yarn_heartbeat_add_report(struct nm_yarn_heartbeat *r, const char *disks_report);
/* Sets the node to unhealthy in this heartbeat, with this reason. */
void nm_yarn_heartbeat_set_out(struct nm_yarn_heartbeat *r, const char *why);
