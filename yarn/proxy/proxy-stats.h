/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What there is to see of the proxy of application masters: how many calls came to what, and how long they took; why
 * the newest containers were placed where they are; and each pipeline as an object. Counts begin anew with nmd.
 */

#include "agent/upstream.h"
#include "yarn/allocator/allocator.h"
#include "yarn/ids.h"

struct nm_yarn_proxy_stats;

/* Placements are remembered in that directory. 0 or -ENOMEM. */
int nm_yarn_proxy_stats_new(int dir_fd, struct nm_yarn_proxy_stats **ret);
/* Why they are forgotten when nmd ends, -errno; 0: they aren't. */
int nm_yarn_proxy_stats_error(const struct nm_yarn_proxy_stats *s);
struct nm_yarn_proxy_stats *nm_yarn_proxy_stats_free(struct nm_yarn_proxy_stats *s);
NM_DEFINE_CLEANUP(struct nm_yarn_proxy_stats *, nm_yarn_proxy_stats_free)

/* A call was answered, so long after it had come; or it came to nothing. */
void nm_yarn_proxy_stats_answered(struct nm_yarn_proxy_stats *s, enum nm_master_call call, uint64_t took_usec);
void nm_yarn_proxy_stats_failed(struct nm_yarn_proxy_stats *s, enum nm_master_call call);
/* What an allocate took beside the ResourceManager's part. */
void nm_yarn_proxy_stats_added(struct nm_yarn_proxy_stats *s, uint64_t usec);

/* A container has its place. The master is the container of the attempt's application master: who may see that may see
 * this. What there is no memory for isn't remembered. */
void nm_yarn_proxy_stats_placed(struct nm_yarn_proxy_stats *s, const struct nm_yarn_container_id *container,
                                const struct nm_yarn_container_id *master, const struct nm_yarn_placement *p);

/* One attempt. Texts are the caller's. */
struct nm_yarn_pipeline_view {
    const char *attempt, *master, *user; /* user NULL: isn't for everybody */
    const char *state;                   /* "starting", "running", "finished" */
    struct nm_yarn_alloc_figures figures;
    uint64_t since_realtime_usec, last_allocate_realtime_usec; /* the latter 0: not yet */
};
/* NULL: no memory. */
json_t *nm_yarn_proxy_stats_pipeline(const struct nm_yarn_pipeline_view *v);

/* Adds one pipeline to the sums, and all that was counted. */
void nm_yarn_proxy_stats_sum(const struct nm_yarn_pipeline_view *v, struct nm_masters *ret);
void nm_yarn_proxy_stats_fill(const struct nm_yarn_proxy_stats *s, struct nm_masters *ret);

/* The place of a container, by its id's text; NULL: it isn't remembered, or there is no memory. */
json_t *nm_yarn_proxy_stats_placement(const struct nm_yarn_proxy_stats *s, const char *container,
                                      struct nm_yarn_container_id *ret_master);
