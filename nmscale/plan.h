/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The plan of --apply: the nodes to give back, and the new text of the exclude file. This code doesn't write the file:
 * apply.c carries the plan out, and records the result of each node.
 */

#include "nmscale/choose.h"
#include "nmscale/model.h"
#include "nmscale/options.h"

enum nm_scale_fate {
    NM_SCALE_WAITING,   /* the node isn't decommissioned yet */
    NM_SCALE_GONE,      /* the node is decommissioned and can be switched off */
    NM_SCALE_BACK,      /* the node was put back and is in use again */
    NM_SCALE_IN_DOUBT,  /* the node isn't decommissioned and could not be put back */
};

/* A node to be given back. It owns its strings, since it outlives the look that found it. */
struct nm_scale_target {
    char *id, *host, *label;
    uint64_t mb, vcores; /* the node's room for demand that returns; 0: not known */
    enum nm_scale_fate fate;
};

struct nm_scale_result {
    struct nm_scale_target *targets;
    size_t n;
    enum nm_scale_exit exit;
    char *why; /* a sentence; NULL: success */
};

void nm_scale_result_done(struct nm_scale_result *r);
const char *nm_scale_fate_name(enum nm_scale_fate fate);

/* Returns the hosts of all targets, or only of those that wait. The caller frees the list, but not its strings. NULL:
 * no memory. */
char **nm_scale_target_hosts(const struct nm_scale_result *res, bool waiting_only, size_t *ret_n);

/* Adds the nodes that the verdicts name, and those that an earlier nmscale has left under way, to res->targets.
 * *ret_new is the new text of the exclude file; NULL: the file needs no change. Returns 0, or an error with a sentence
 * (or -ENOMEM without one), and *ret_new is untouched then. */
int nm_scale_plan(const char *exclude_file, const struct nm_scale_model *m, const struct nm_scale_verdict *verdicts,
                  struct nm_scale_result *res, char **ret_new, char **ret_message);
