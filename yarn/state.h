/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a node knows of its ResourceManager, and what it does next: pure, no clock and no I/O. yarn.c asks after each
 * answer, and after each that didn't come.
 *
 * Each heartbeat names the last response that was heard, and the response to it has the next number; 0 follows a
 * registration. So one that was lost is sent again with the same number: the ResourceManager then repeats its answer.
 * Any other number, and it has forgotten the node.
 */

#include "rpc/hadoop/exception.h"
#include "yarn/tracker.pb-c.h"

enum nm_yarn_phase {
    NM_YARN_REGISTERING, /* it doesn't know us, or no longer */
    NM_YARN_RUNNING,     /* it hears our heartbeats */
    NM_YARN_STOPPED,     /* it wants nothing of us any more */
};

/* A key that tokens are signed with. */
#define NM_YARN_KEY_MAX 64u
struct nm_yarn_master_key {
    int32_t id;
    uint8_t bytes[NM_YARN_KEY_MAX];
    size_t size; /* 0: there is none */
};

/* As messages have it: of the key's bytes, which must outlive it. */
Yarn__MasterKey nm_yarn_key_message(const struct nm_yarn_master_key *key);
/* False: it is none, or too long; NULL is none. */
bool nm_yarn_key_from_message(const Yarn__MasterKey *m, struct nm_yarn_master_key *ret);

/* The one in use, and the one before, with which there are still tokens under way. */
struct nm_yarn_keys {
    struct nm_yarn_master_key current, previous;
};

/* What is larger is taken for that. */
#define NM_YARN_MEMORY_MIB_MAX INT32_MAX
#define NM_YARN_VCORES_MAX 100000

struct nm_yarn_state {
    enum nm_yarn_phase phase;
    uint64_t retry_max_usec; /* set by the owner */
    int32_t response_id;
    unsigned retries;   /* how often the request that is due was sent already */
    unsigned failures;  /* in a row, of whatever kind */
    unsigned resyncs;   /* in a row, without a heartbeat between them that was answered */
    uint64_t interval_usec;
    int64_t rm_identifier; /* 0: not registered */
    int64_t token_sequence;
    struct nm_yarn_keys container_keys, nm_keys;
    bool sized;         /* it has said what it wants the node to be, in the next two; else what the node says */
    int64_t memory_mib; /* to NM_YARN_MEMORY_MIB_MAX, NM_YARN_VCORES_MAX */
    int32_t vcores;
    int32_t queue_max_length, queue_max_wait_msec; /* -1: no limit */
    char rm_version[32];
    char trouble[256]; /* why it isn't as it should be; "" */
};

enum nm_yarn_due { NM_YARN_REGISTER, NM_YARN_BEAT, NM_YARN_REST };

struct nm_yarn_step {
    enum nm_yarn_due task;
    uint64_t after_usec;
    bool reconnect; /* on a new connection */
};

void nm_yarn_state_init(struct nm_yarn_state *s, uint64_t retry_max_usec);

/* Each says what is to be done next. random: any number, so that not all nodes of a cluster come back at once. */
struct nm_yarn_step nm_yarn_state_registered(struct nm_yarn_state *s, const Yarn__RegisterResponse *r,
                                             uint32_t random);
struct nm_yarn_step nm_yarn_state_answered(struct nm_yarn_state *s, const Yarn__HeartbeatResponse *r,
                                           uint32_t random);
/* The node's size has changed: it has to be told anew, and what the ResourceManager wanted before is over. */
struct nm_yarn_step nm_yarn_state_resized(struct nm_yarn_state *s);
/* It has something to say that only a registration can. */
struct nm_yarn_step nm_yarn_state_anew(struct nm_yarn_state *s);
/* There was no answer, or a refusal: as a nm_hadoop_reply has it. */
struct nm_yarn_step nm_yarn_state_failed(struct nm_yarn_state *s, int error, const struct nm_exception *why,
                                         uint32_t random);
