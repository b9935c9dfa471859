/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Statistics of the proxy for application masters: number and duration of calls by result, the reasons for the newest
 * placements, and a JSON object for each pipeline. All counts start at zero when nmd starts.
 */

#include "agent/upstream.h"
#include "yarn/allocator/allocator.h"
#include "yarn/ids.h"
#include "yarn/proxy/lend-view.h"

/* Calls of application masters that go through this node to the ResourceManager, and operations of this node for
 * masters. */
enum nm_master_call {
    NM_MASTER_START, /* a master is started on this node, with a token of the proxy */
    NM_MASTER_REGISTER,
    NM_MASTER_ALLOCATE,
    NM_MASTER_FINISH,
    NM_MASTER_RECOVER, /* nmd restores a master's pipeline after its own restart */
    NM_MASTER_STOP,    /* a master has ended, and the proxy removes its data */
    NM_MASTER_TOKEN,   /* the ResourceManager has given a master a new token */
    NM_MASTER_N_CALLS,
};

/* Figures of all masters together. */
struct nm_yarn_master_stats {
    char address[280];    /* address to which the masters connect */
    uint32_t pipelines;   /* number of attempts whose masters connect through this node */
    uint64_t outstanding; /* number of opportunistic containers that have not been placed yet */
    uint64_t placed_node_local, placed_rack_local, placed_anywhere; /* containers placed by this node, by rule */
    uint64_t failed[NM_MASTER_N_CALLS];
    struct nm_histogram took[NM_MASTER_N_CALLS]; /* durations of the calls that did not fail, from request to answer */
    struct nm_histogram added;                   /* time of allocate calls in nmd, without the ResourceManager's time */
    struct nm_yarn_lend_totals lending;
};

struct nm_yarn_proxy_stats;

/* Creates the statistics. Placements and the histories of lent containers are saved in the directory dir_fd. Returns 0
 * or -ENOMEM. */
int nm_yarn_proxy_stats_new(int dir_fd, struct nm_yarn_proxy_stats **ret);
/* Return 0 if the placements, or the histories of lent containers, are saved, or -errno if they will be lost when nmd
 * exits. */
int nm_yarn_proxy_stats_error(const struct nm_yarn_proxy_stats *s);
int nm_yarn_proxy_stats_lent_error(const struct nm_yarn_proxy_stats *s);
struct nm_yarn_proxy_stats *nm_yarn_proxy_stats_free(struct nm_yarn_proxy_stats *s);
NM_DEFINE_CLEANUP(struct nm_yarn_proxy_stats *, nm_yarn_proxy_stats_free)

/* Count a call. nm_yarn_proxy_stats_answered() counts an answered call with its duration, nm_yarn_proxy_stats_failed()
 * a failed call. */
void nm_yarn_proxy_stats_answered(struct nm_yarn_proxy_stats *s, enum nm_master_call call, uint64_t took_usec);
void nm_yarn_proxy_stats_failed(struct nm_yarn_proxy_stats *s, enum nm_master_call call);
/* Records the time that an allocate call took in nmd, without the time of the ResourceManager. */
void nm_yarn_proxy_stats_added(struct nm_yarn_proxy_stats *s, uint64_t usec);

/* Records a placement. master: the container of the application master. A viewer who may see this container may also
 * see the placement. Without memory, the entry is lost. */
void nm_yarn_proxy_stats_placed(struct nm_yarn_proxy_stats *s, const struct nm_yarn_container_id *container,
                                const struct nm_yarn_container_id *master, const struct nm_yarn_placement *p);

/* Count what is lent to attempts. restored: the attempt was saved by an earlier nmd; otherwise it ends now, and the
 * histories of its containers are recorded. */
void nm_yarn_proxy_stats_lending(struct nm_yarn_proxy_stats *s, const struct nm_yarn_lend_view *v, bool restored);

/* Data of one attempt. The caller owns the strings. */
struct nm_yarn_pipeline_view {
    const char *attempt, *master, *user; /* user NULL: the viewer may not see the user */
    const char *state;                   /* "starting", "running", "finished" */
    struct nm_yarn_alloc_figures figures;
    struct nm_yarn_lend_view lending;    /* books NULL: the chain has no stage that lends */
    uint64_t since_realtime_usec, last_allocate_realtime_usec; /* last_*: 0 before the first allocate call */
};
/* Returns the attempt's JSON object. NULL: no memory. */
json_t *nm_yarn_proxy_stats_pipeline(const struct nm_yarn_pipeline_view *v);

/* nm_yarn_proxy_stats_sum() adds one pipeline's figures to *ret, nm_yarn_proxy_stats_fill() adds all counters. */
void nm_yarn_proxy_stats_sum(const struct nm_yarn_pipeline_view *v, struct nm_yarn_master_stats *ret);
void nm_yarn_proxy_stats_fill(const struct nm_yarn_proxy_stats *s, struct nm_yarn_master_stats *ret);
/* Returns the figures in the format of the status. NULL: no memory. Takes ownership of the array `pipelines`. */
json_t *nm_yarn_proxy_stats_to_json(const struct nm_yarn_master_stats *m, json_t *pipelines);
void nm_yarn_proxy_stats_write_metrics(const struct nm_yarn_master_stats *m, const struct nm_metric_writer *w);

/* Returns the placement of the container with this id, and sets *ret_master to the container of its master. NULL: the
 * log has no entry of this container, or there is no memory. */
json_t *nm_yarn_proxy_stats_placement(const struct nm_yarn_proxy_stats *s, const char *container,
                                      struct nm_yarn_container_id *ret_master);
/* Returns the same answer as nm_yarn_lend_view_explain_container() for a container that was lent to an attempt that has
 * ended, and sets *ret_master to the container of its master. NULL: as above. */
json_t *nm_yarn_proxy_stats_lent(const struct nm_yarn_proxy_stats *s, const char *container, bool with_names,
                                 struct nm_yarn_container_id *ret_master);
