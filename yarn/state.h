/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The node's knowledge of its ResourceManager, and the choice of the next step. The code is pure, without clock and
 * I/O. yarn.c calls this code after each answer and after each request without an answer.
 *
 * Each heartbeat contains the id of the last response that was received, and its response has the next id. The first
 * heartbeat after a registration has the id 0. A lost heartbeat is sent again with the same id, and the ResourceManager
 * then repeats its response. A response with any other id means that the ResourceManager doesn't know the node any
 * more.
 */

#include "rpc/hadoop/exception.h"
#include "yarn/tracker.pb-c.h"

enum nm_yarn_phase {
    NM_YARN_REGISTERING, /* the ResourceManager doesn't know the node yet, or doesn't know it any more */
    NM_YARN_RUNNING,     /* the ResourceManager answers heartbeats */
    NM_YARN_STOPPED,     /* the ResourceManager has shut the node out for good */
};

/* A key that signs tokens. */
#define NM_YARN_KEY_MAX 64u
struct nm_yarn_master_key {
    int32_t id;
    uint8_t bytes[NM_YARN_KEY_MAX];
    size_t size; /* 0: there is no key */
};

/* Converts a key to a message. The message points to the key's bytes, so the key must outlive it. */
Yarn__MasterKey nm_yarn_key_message(const struct nm_yarn_master_key *key);
/* Returns false if m is NULL, or the key is missing or too long. */
bool nm_yarn_key_from_message(const Yarn__MasterKey *m, struct nm_yarn_master_key *ret);

/* The current key, and the previous one, which has signed tokens that are still in use. */
struct nm_yarn_keys {
    struct nm_yarn_master_key current, previous;
};

/* Limits of a node's size. Larger values are reduced to these limits. */
#define NM_YARN_MEMORY_MIB_MAX INT32_MAX
#define NM_YARN_VCORES_MAX 100000

struct nm_yarn_state {
    enum nm_yarn_phase phase;
    uint64_t retry_max_usec; /* set by the owner */
    int32_t response_id;
    unsigned retries;   /* how many times the due request was sent already */
    unsigned failures;  /* consecutive failures of any kind */
    unsigned resyncs;   /* consecutive resyncs, without an answered heartbeat between them */
    uint64_t interval_usec;
    int64_t rm_identifier; /* identifies the ResourceManager's run; 0: the node is not registered */
    int64_t token_sequence;
    struct nm_yarn_keys container_keys, nm_keys;
    bool sized;         /* the ResourceManager has set the node's size (the next two members) */
    int64_t memory_mib; /* limited to NM_YARN_MEMORY_MIB_MAX and NM_YARN_VCORES_MAX */
    int32_t vcores;
    int32_t queue_max_length, queue_max_wait_msec; /* -1: no limit */
    char rm_version[32];
    char trouble[256]; /* why the node isn't connected properly; "" if it is connected */
};

enum nm_yarn_due { NM_YARN_REGISTER, NM_YARN_BEAT, NM_YARN_REST };

struct nm_yarn_step {
    enum nm_yarn_due task;
    uint64_t after_usec;
    bool reconnect; /* use a new connection */
};

void nm_yarn_state_init(struct nm_yarn_state *s, uint64_t retry_max_usec);

/* Each of these returns the next step. random: any number, so that the nodes of a cluster don't reconnect at the same
 * time. */
struct nm_yarn_step nm_yarn_state_registered(struct nm_yarn_state *s, const Yarn__RegisterResponse *r,
                                             uint32_t random);
struct nm_yarn_step nm_yarn_state_answered(struct nm_yarn_state *s, const Yarn__HeartbeatResponse *r,
                                           uint32_t random);
/* Notes a change of the node's size: the node must report the new size, and the size that the ResourceManager has set
 * is void. */
struct nm_yarn_step nm_yarn_state_resized(struct nm_yarn_state *s);
/* Requests a registration, for a report that a heartbeat can't contain. */
struct nm_yarn_step nm_yarn_state_anew(struct nm_yarn_state *s);
/* Handles a missing answer or a refusal, given as in nm_hadoop_reply. */
struct nm_yarn_step nm_yarn_state_failed(struct nm_yarn_state *s, int error, const struct nm_exception *why,
                                         uint32_t random);
