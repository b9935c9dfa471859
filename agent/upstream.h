/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the node belongs to, if it does: what an upstream (yarn/) asks of the manager, and what it has to show. */

#include <jansson.h>

#include "agent/caller.h"
#include "agent/counters.h"

/* What application masters ask of whoever is above, where they do so by way of this node. */
enum nm_master_call {
    NM_MASTER_START,    /* one is started here, and given its way */
    NM_MASTER_REGISTER,
    NM_MASTER_ALLOCATE,
    NM_MASTER_FINISH,
    NM_MASTER_RECOVER,  /* of one whose nmd was restarted */
    NM_MASTER_STOP,     /* its end, and the end of what was kept for it */
    NM_MASTER_TOKEN,    /* it was given a new token of whoever is above */
    NM_MASTER_N_CALLS,
};

struct nm_masters {
    bool served;          /* else all below is 0 */
    char address[280];    /* where they ask */
    uint32_t pipelines;   /* attempts whose masters go through here */
    uint64_t outstanding; /* opportunistic containers that wait for a place */
    uint64_t placed_node_local, placed_rack_local, placed_anywhere; /* by this node */
    uint64_t failed[NM_MASTER_N_CALLS];
    struct nm_histogram took[NM_MASTER_N_CALLS]; /* those that did not fail, from request to answer */
    struct nm_histogram added;                   /* of an allocate, without what whoever is above took */
};

/* What the node belongs to, if it does: told by whoever speaks with it. */
struct nm_upstream {
    const char *kind;    /* "yarn", "none"; NULL: as "none" */
    const char *state;   /* a word of its own: "running", ... */
    char address[280];   /* of whoever is above */
    char node[280];      /* what this node is called there; "": nothing yet */
    char trouble[256];   /* why it isn't as it should be; "" */
    char unhealthy[200]; /* it has heard that this node is, for this reason; "": that it is well */
    uint64_t last_heartbeat_realtime_usec; /* that was answered; 0: none yet */
    uint64_t round_trip_usec;              /* of the newest answer; 0: none yet */
    bool sized;            /* it has said what it counts on, in the next two; else what is configured */
    uint64_t memory_bytes;
    uint32_t vcores;
    uint64_t heartbeats, failures;      /* answered; requests that came to nothing */
    struct nm_histogram heartbeat, rpc; /* from one answered heartbeat to the next; from a request to its answer */
    struct nm_masters masters;
};

/* Fills in the upstream's part of the status. Kind and state are "none" if there is no upstream. */
void nm_manager_get_upstream(struct nm_manager *m, struct nm_upstream *ret);

/* What those who know the upstream's own nodes ask of them, in a path and words that are the upstream's. */
struct nm_upstream_question {
    const struct nm_caller *who;
    bool with_users;          /* else without whose anything is, and without what it has said */
    const char *path;         /* with {id} where an id is; that id, or NULL */
    const char *id;
    const char *state, *user; /* what a list is narrowed to, or NULL */
};

/* Who tells of the upstream from now on: for a status, and settings of its own for `nmctl config` (an array, a new
 * reference, or NULL: no memory). The others may be NULL, and see below. NULL: nobody. */
struct nm_upstream_ops {
    void (*status)(void *userdata, struct nm_upstream *ret);
    json_t *(*config)(void *userdata);
    json_t *(*pipelines)(void *userdata, const struct nm_caller *who, bool with_users);
    json_t *(*placement)(void *userdata, const struct nm_caller *who, const char *id);
    int (*ask)(void *userdata, const struct nm_upstream_question *q, json_t **ret, struct nm_problem *ret_problem);
};
void nm_manager_set_upstream(struct nm_manager *m, const struct nm_upstream_ops *ops, void *userdata);
/* Records an event of the node that an upstream has noticed, and logs it at that level. */
void nm_manager_tell(struct nm_manager *m, int level, const char *text);

/* The attempts whose masters go through this node, as far as `who` may see the master: an array, or NULL: no memory. */
json_t *nm_manager_pipelines(struct nm_manager *m, const struct nm_caller *who, bool with_users);
/* Why this node placed a container where it did, which may be another node: an object, or NULL: there is nothing that
 * `who` may know. */
json_t *nm_manager_placement(struct nm_manager *m, const struct nm_caller *who, const char *id);
/* As a request: *ret is what the upstream's own nodes would answer, as far as `who` may see what it is about. */
int nm_manager_ask_upstream(struct nm_manager *m, const struct nm_upstream_question *q, json_t **ret,
                            struct nm_problem *ret_problem);

/* An upstream allows so many opportunistic containers of this owner in the queue (UINT32_MAX: any number): of those
 * beyond it the newest are discarded now, as `shed`. Those that come later wait until it is told again: it has more to
 * say when the upstream has heard of them, which would only send again what is discarded at once. Others have nothing
 * to do with it. What has waited in vain for too long ([queue] give-back) is discarded likewise, with
 * NM_REASON_WAITED_TOO_LONG. There is one such upstream; a restarted nmd has to be told anew. */
void nm_manager_set_queue_limit(struct nm_manager *m, const char *owner, uint32_t limit);

/* An upstream wants the node to be of this size (0, each: what the configuration says), until it says something else.
 * A larger node is as large as the host can be; from a smaller one nothing is taken back, and less is given out of the
 * queue. Kept over a reload, and not over a restart. There is one such upstream. */
void nm_manager_set_size(struct nm_manager *m, uint64_t memory_bytes, uint32_t vcores);

/*
 * Moves a running process of nmd's own, which serves other hosts, into a cgroup beside the slice. Its CPU weight is
 * half of what a guaranteed container of one vcore gets at that level. There is one helper at a time. Its cgroup is
 * removed when the helper or nmd ends. done: 0, or -errno with a reason. It is called once, perhaps before this
 * function returns, and never after the manager has been freed. -EOPNOTSUPP: this host has no CPU weights.
 */
typedef void (*nm_manager_placed_cb_t)(int result, const char *message, void *userdata);
int nm_manager_place_helper(struct nm_manager *m, const char *name, pid_t pid, nm_manager_placed_cb_t done,
                            void *userdata);
bool nm_manager_can_place_helper(const struct nm_manager *m);
