/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the files of distributed scheduling share. They are layers, each using only those above it:
 *
 *   distribute-grant   a placement becomes a container with its tokens
 *   distribute-asks    which asks of a call are opportunistic, and what the allocator is told of them
 *   distribute-known   what is known of the cluster, and what of all that outlives nmd
 *   stage-distribute   calls
 */

#include "yarn/allocator/allocator.h"
#include "yarn/proxy/stage.h"

#define NM_DISTRIBUTE_OPPORTUNISTIC 2 /* of ExecutionType */

struct nm_distribute {
    struct nm_stage_master *m;
    struct nm_yarn_allocator *allocator;
    struct nm_yarn_alloc_limits limits; /* the allocator's */
    bool registered;
    int64_t expiry_msec; /* so long a container token is good */
    bool has_number;
    int64_t number_start; /* below which the ResourceManager has them */
    int64_t last_number; /* of the container that was numbered last; they go down */
    struct nm_bytes answer; /* to its registration, packed, and its own */
    /* The containers of the last call that had any: the master has heard of them when it calls with another id. */
    int32_t response_id;
    struct nm_bytes *placed; /* packed, its own */
    size_t n_placed;
    struct nm_yarn_stored_node *known; /* for which the ResourceManager has given an NMToken; its own, in order */
    size_t n_known;
    uint8_t *asks; /* as they were kept last, its own */
    uint64_t kept_changes;
    bool dirty; /* something else isn't kept yet */
};

/* ---- distribute-grant.c ---- */
/* A container of that placement, with the next number, in the call's arena. -errno. */
int nm_distribute_grant(struct nm_distribute *d, struct nm_stage_call *c, const struct nm_yarn_placement *p,
                        Masters__Container **ret);
/* The tokens with which the master may talk to the nodes of these containers, as far as the ResourceManager hasn't
 * given any: behind those of the answer. */
int nm_distribute_add_node_tokens(struct nm_distribute *d, struct nm_stage_call *c, Masters__Container *const *placed,
                                  size_t n_placed, Masters__AllocateAnswer *answer);

/* ---- distribute-asks.c ---- */
/* What isn't opportunistic goes on to the ResourceManager: *ret, a copy of the request with those asks alone. */
int nm_distribute_split(struct nm_stage_call *c, Masters__AllocateRequest **ret);
/* The others go to the allocator. delivered: containers that the master doesn't know of, and has counted in. 0,
 * NM_STAGE_E_REFUSED or -errno. */
int nm_distribute_ask(struct nm_distribute *d, struct nm_stage_call *c, Masters__Container *const *delivered,
                      size_t n_delivered, struct nm_exception *why);

/* ---- distribute-known.c ---- */
int nm_distribute_set_nodes(struct nm_distribute *d, struct nm_arena *a, Masters__NodeForScheduling *const *nodes,
                            size_t n);
/* Before containers are placed: what may be placed on a node changes with what the ResourceManager tells this one. */
void nm_distribute_look_at_queues(struct nm_distribute *d);
void nm_distribute_note_tokens(struct nm_distribute *d, const Masters__AllocateAnswer *answer);
bool nm_distribute_is_known(const struct nm_distribute *d, const char *host, int32_t port);
/* The master is registered. */
int nm_distribute_registered(struct nm_distribute *d, struct nm_stage_call *c,
                             const Masters__DistributedRegisterAnswer *answer);
void nm_distribute_forget_placed(struct nm_distribute *d);
int nm_distribute_keep_placed(struct nm_distribute *d, int32_t response_id, Masters__Container *const *placed,
                              size_t n);
/* The containers of the last call, in the arena. */
int nm_distribute_get_placed(const struct nm_distribute *d, struct nm_arena *a, Masters__Container ***ret);
/* Writes what isn't kept yet. */
int nm_distribute_save(struct nm_distribute *d);
int nm_distribute_keep(void *stage, struct nm_yarn_stored_master *m);
int nm_distribute_restore(struct nm_distribute *d, const struct nm_yarn_stored_master *kept);
void nm_distribute_free(struct nm_distribute *d);
