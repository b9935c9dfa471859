/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An upstream is a system above the node that sends containers to it, such as the ResourceManager of a cluster. This
 * header has what the manager does for the folder that speaks with the upstream, and what that folder registers to be
 * shown. What only one kind of upstream has is known to that folder alone.
 */

#include <jansson.h>

#include "agent/caller.h"
#include "agent/counters.h"

/* What the node knows of any upstream. The folder of the upstream fills it in. */
struct nm_upstream {
    const char *kind;    /* "yarn", "none"; NULL means "none" */
    const char *state;   /* a word of the upstream's: "running", ... */
    char address[280];   /* of the upstream */
    char node[280];      /* the name of this node at the upstream; "": not known yet */
    char trouble[256];   /* why the state is not as it should be; "" */
    char unhealthy[200]; /* the reason for which the upstream was told that this node is unhealthy; "": it is healthy */
    uint64_t last_heartbeat_realtime_usec; /* the last that was answered; 0: none yet */
    uint64_t round_trip_usec;              /* of the newest answer; 0: none yet */
    bool sized;            /* the upstream has set the node's size, in the next two; false: the configured size holds */
    uint64_t memory_bytes;
    uint32_t vcores;
    uint64_t heartbeats, failures;      /* answered heartbeats; requests without a good answer */
    struct nm_histogram heartbeat, rpc; /* from one answered heartbeat to the next; from a request to its answer */
};

/* Fills in the upstream's part of the status. Kind and state are "none" if there is no upstream. */
void nm_manager_get_upstream(struct nm_manager *m, struct nm_upstream *ret);

/* ---- what an upstream registers ----------------------------------------------------------- */

/* One request for a view. */
struct nm_upstream_question {
    const struct nm_caller *who;
    bool with_users;          /* false: the answer names no users and has none of their data */
    const char *path;         /* the path of the view */
    const char *id;           /* the id in the place of {id}, or NULL */
    const char *state, *user; /* filters of a list, or NULL */
};

/* A page that the local interface serves for the upstream. Its name is the path of its route, with {id} where an id
 * stands. get() sets *ret to a new reference, or returns a positive outcome with *ret_problem, or -errno. It shows only
 * what `who` may see. */
struct nm_upstream_view {
    const char *path;
    int (*get)(void *userdata, const struct nm_upstream_question *q, json_t **ret, struct nm_problem *ret_problem);
};

enum nm_metric_type { NM_METRIC_GAUGE, NM_METRIC_COUNTER, NM_METRIC_HISTOGRAM };

struct nm_metric_label {
    const char *name, *value; /* the value may be any text */
};

/* Writes metrics of an upstream behind those of the node. A family is announced once, and its samples follow before the
 * next family. `to` is the first argument of each function. */
struct nm_metric_writer {
    void (*family)(void *to, const char *name, enum nm_metric_type type, const char *help);
    /* Writes one value of a gauge or a counter. label: NULL for a family of one value. */
    void (*sample)(void *to, const char *name, const struct nm_metric_label *label, double value);
    /* Writes buckets, sum and count of one histogram, in seconds. */
    void (*histogram)(void *to, const char *name, const struct nm_metric_label *label, const struct nm_histogram *h);
    void *to;
};

/* What an upstream shows. Any function may be NULL. */
struct nm_upstream_ops {
    void (*status)(void *userdata, struct nm_upstream *ret);
    /* Returns the members that are the upstream's alone, to be appended to its object in the status: a new reference,
     * or NULL: no memory. */
    json_t *(*details)(void *userdata, const struct nm_caller *who, bool with_users);
    void (*metrics)(void *userdata, const struct nm_metric_writer *w);
    /* Returns the upstream's settings for `nmctl config`: an array, a new reference, or NULL: no memory. */
    json_t *(*config)(void *userdata);
    const struct nm_upstream_view *views;
    size_t n_views;
};
/* Registers what the upstream shows, in place of what was registered before. ops NULL: there is no upstream. */
void nm_manager_set_upstream(struct nm_manager *m, const struct nm_upstream_ops *ops, void *userdata);

/* ---- what the local interface shows of it ------------------------------------------------- */

/* Returns the upstream's own members of the status as far as `who` may see them: an object, a new reference, or NULL:
 * no memory. */
json_t *nm_manager_upstream_details(struct nm_manager *m, const struct nm_caller *who, bool with_users);
/* Writes the upstream's own metrics. */
void nm_manager_write_upstream_metrics(struct nm_manager *m, const struct nm_metric_writer *w);
/* Answers from the view of that path, as its get() does. NM_AGENT_E_NOT_FOUND: there is no such view. */
int nm_manager_ask_upstream(struct nm_manager *m, const struct nm_upstream_question *q, json_t **ret,
                            struct nm_problem *ret_problem);

/* ---- what an upstream asks of the manager ------------------------------------------------- */

/* Records an event of the node that an upstream has noticed, and logs it at that level. */
void nm_manager_tell(struct nm_manager *m, int level, const char *text);

/* Limits the queued opportunistic containers of this owner (UINT32_MAX: any number). The newest beyond the limit are
 * discarded now, with NM_REASON_SHED. Containers that are queued later are not discarded before the next call: the
 * upstream makes it when it knows of them, and would send a container again that is discarded earlier. Containers of
 * other owners are not affected. A container that has waited longer than [queue] give-back is discarded likewise, with
 * NM_REASON_WAITED_TOO_LONG. Only one upstream may set a limit. A restarted nmd has none until the next call. */
void nm_manager_set_queue_limit(struct nm_manager *m, const char *owner, uint32_t limit);

/* Sets the size of the node as the upstream wants it (0, each: as configured) until the next call. The size is never
 * larger than the host allows. After a reduction no container is stopped, and fewer start from the queue. The size
 * outlives a reload, and not a restart. Only one upstream may set it. */
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
