/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The node's data about its ResourceManager, and the choice of the next step. The code is pure: it uses no clock and no
 * I/O. yarn-requests.c calls it after each answer, and yarn-steps.c after each request that got no answer.
 *
 * Each heartbeat contains the id of the last response that the node received, and the response to it has the next id.
 * The first heartbeat after a registration has the id 0. If a heartbeat gets no response, the node sends it again with
 * the same id, and the ResourceManager then repeats its response. A response with any other id means that the
 * ResourceManager no longer knows the node.
 */

#include "rpc/hadoop/exception.h"
#include "yarn/master-key.h"
#include "yarn/tracker.pb-c.h"

enum nm_yarn_phase {
    NM_YARN_REGISTERING, /* the ResourceManager doesn't know the node yet, or no longer knows it */
    NM_YARN_RUNNING,     /* the ResourceManager answers heartbeats */
    NM_YARN_STOPPED,     /* the ResourceManager has permanently excluded the node */
};

/* Limits of a node's size. Larger values are reduced to these limits. */
#define NM_YARN_MEMORY_MIB_MAX INT32_MAX
#define NM_YARN_VCORES_MAX 100000

struct nm_yarn_state {
    enum nm_yarn_phase phase;
    uint64_t retry_max_usec; /* set by the caller */
    unsigned n_rms; /* set by the caller: number of ResourceManagers that are tried in turn; 0: one */
    int32_t response_id;
    unsigned retries;   /* how often the current request was already sent */
    unsigned failures;  /* number of consecutive failures of any kind */
    unsigned resyncs;   /* number of consecutive resyncs, without an answered heartbeat between them */
    uint64_t interval_usec;
    int64_t rm_identifier; /* identifies the ResourceManager's run; 0: the node is not registered */
    int64_t token_sequence;
    struct nm_yarn_cluster_keys keys;
    bool sized;         /* the ResourceManager has set the node's size, memory_mib and vcores */
    int64_t memory_mib; /* limited to NM_YARN_MEMORY_MIB_MAX and NM_YARN_VCORES_MAX */
    int32_t vcores;
    int32_t queue_max_length, queue_max_wait_msec; /* -1: no limit */
    char rm_version[32];
    char trouble[256]; /* the reason why the node isn't connected or registered; "" if it is */
};

enum nm_yarn_due { NM_YARN_REGISTER, NM_YARN_HEARTBEAT, NM_YARN_REST };

struct nm_yarn_step {
    enum nm_yarn_due task;
    uint64_t after_usec;
    bool reconnect; /* the next step needs a new connection */
};

void nm_yarn_state_init(struct nm_yarn_state *s, uint64_t retry_max_usec);

/* Each of these functions returns the next step. random: a random number, so that the nodes of a cluster don't
 * reconnect at the same time. */
struct nm_yarn_step nm_yarn_state_registered(struct nm_yarn_state *s, const Yarn__RegisterResponse *r,
                                             uint32_t random);
struct nm_yarn_step nm_yarn_state_answered(struct nm_yarn_state *s, const Yarn__HeartbeatResponse *r,
                                           uint32_t random);
/* Handles a change of the node's size: the node must report the new size, and the size that the ResourceManager has set
 * is no longer valid. */
struct nm_yarn_step nm_yarn_state_resized(struct nm_yarn_state *s);
/* Requests a new registration, for a report that a heartbeat can't contain. */
struct nm_yarn_step nm_yarn_state_restart(struct nm_yarn_state *s);
/* Handles a missing answer or a refusal. The arguments are those of nm_hadoop_reply. */
struct nm_yarn_step nm_yarn_state_failed(struct nm_yarn_state *s, int error, const struct nm_exception *why,
                                         uint32_t random);
