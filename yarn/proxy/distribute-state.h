/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The state that the files of distributed scheduling share. stage-distribute.c handles the calls. The files are layers:
 * tests/style has their order. */

#include "yarn/allocator/allocator.h"
#include "yarn/proxy/stage.h"

#define NM_DISTRIBUTE_OPPORTUNISTIC 2 /* value of ExecutionType for opportunistic containers */

struct nm_distribute {
    struct nm_stage_master *m;
    struct nm_yarn_allocator *allocator;
    struct nm_yarn_alloc_limits limits; /* the limits that the allocator uses */
    bool registered;
    bool listed; /* the ResourceManager has listed the nodes since the start of nmd */
    int64_t expiry_msec; /* time for which a container token is valid */
    bool has_number;
    int64_t number_start; /* the ResourceManager lets this node use container numbers below this number */
    int64_t last_number; /* number of the newest container; each new container gets a lower number */
    struct nm_bytes answer; /* the ResourceManager's answer to the registration, packed; owned by this struct */
    /* The containers of the last call that got containers. When the master calls with another response id, it has
     * received them. A negative id: the master will not receive them, so they are released instead. */
    int32_t response_id;
    struct nm_bytes *placed; /* packed containers; owned by this struct */
    size_t n_placed;
    int64_t released_first, released_last; /* numbers that this nmd has released last, from the lower one; 0: none */
    bool is_answered; /* the ResourceManager has answered the call with these containers */
    struct nm_yarn_stored_node *known; /* nodes for which the master has an NMToken, sorted; owned by this struct */
    size_t n_known;
    uint8_t *asks; /* packed asks as last saved; owned by this struct */
    uint64_t saved_revision;
    bool dirty; /* other members have changed since the last save */
};

/* ---- distribute-grant.c ---- */
/* Makes a container for that placement, in the call's arena. The container gets the next number. Returns 0 or
 * -errno. */
int nm_distribute_grant(struct nm_distribute *d, struct nm_stage_call *c, const struct nm_yarn_placement *p,
                        Masters__Container **ret);
/* Adds the NMTokens for the nodes of these containers to the tokens of the answer. A node for which the ResourceManager
 * has already issued an NMToken gets none. */
int nm_distribute_add_node_tokens(struct nm_distribute *d, struct nm_stage_call *c, Masters__Container *const *placed,
                                  size_t n_placed, Masters__AllocateAnswer *answer);

/* ---- distribute-asks.c ---- */
/* Makes *ret, a copy of the request for the ResourceManager. The copy contains only the guaranteed asks. */
int nm_distribute_split(struct nm_stage_call *c, Masters__AllocateRequest **ret);
/* Passes the opportunistic asks to the allocator. delivered: containers that the master hasn't received yet, so its
 * asks still include them. Returns 0, NM_STAGE_E_REFUSED or -errno. */
int nm_distribute_ask(struct nm_distribute *d, struct nm_stage_call *c, Masters__Container *const *delivered,
                      size_t n_delivered, struct nm_exception *why);

/* ---- distribute-known.c ---- */
int nm_distribute_set_nodes(struct nm_distribute *d, struct nm_arena *a, Masters__NodeForScheduling *const *nodes,
                            size_t n);
/* Returns whether the node has the cluster's keys, with which it signs the tokens of containers. */
bool nm_distribute_has_keys(const struct nm_distribute *d);
/* Updates the lengths of the nodes' queues, and whether containers are lent. Must be called before containers are
 * placed, since the ResourceManager's messages change the room on a node. */
void nm_distribute_check_queues(struct nm_distribute *d);
/* Passes what is known of the listed nodes' room to the allocator, and asks nodes for it. Must be called before
 * containers are placed, while there are outstanding asks. */
void nm_distribute_measure(struct nm_distribute *d, uint64_t now_usec);
void nm_distribute_note_tokens(struct nm_distribute *d, const Masters__AllocateAnswer *answer);
bool nm_distribute_is_known(const struct nm_distribute *d, const char *host, int32_t port);
/* Handles the answer to the registration of the master. */
int nm_distribute_registered(struct nm_distribute *d, struct nm_stage_call *c,
                             const Masters__DistributedRegisterAnswer *answer);
void nm_distribute_drop_placed(struct nm_distribute *d);
/* Returns whether this call must release the containers of an earlier call, since the master has not received them and
 * will not. Such a call gets no containers. Forgets these containers if they were released by an earlier call. */
bool nm_distribute_must_release(struct nm_distribute *d, int32_t response_id);
int nm_distribute_persist_placed(struct nm_distribute *d, int32_t response_id, Masters__Container *const *placed,
                                 size_t n);
/* Returns the containers of the last call, in the arena. */
int nm_distribute_get_placed(const struct nm_distribute *d, struct nm_arena *a, Masters__Container ***ret);
/* Saves the state if it has changed. */
int nm_distribute_save(struct nm_distribute *d);
int nm_distribute_persist(void *stage, struct nm_yarn_stored_master *m);
int nm_distribute_restore(struct nm_distribute *d, const struct nm_yarn_stored_master *kept);
void nm_distribute_free(struct nm_distribute *d);
