/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which nodes can be given back. Pure: no clock, no I/O; the same facts give the same answer.  A node can go if it has
 * been Low for long enough, nothing of a running application can lie there, it is alone on its host (the exclude file
 * knows hosts only), the others have room for all that waits, and enough nodes stay: of all, and of its partition.
 * Where the facts don't say, it stays.  The least useful goes first: the one with the least memory, then the fewest
 * vcores, then the one that has been Low longest, then by name.
 */

#include "nmscale/memory.h"
#include "nmscale/model.h"

enum nm_scale_reason {
    NM_SCALE_GIVE,
    NM_SCALE_NOT_RUNNING,
    NM_SCALE_IN_USE,
    NM_SCALE_SHARED_HOST,
    NM_SCALE_IDLE_SHORT,
    NM_SCALE_HAS_DATA,     /* a running application was seen there, or the node says that it keeps something */
    NM_SCALE_UNKNOWN_DATA, /* a running application may have been there before anybody looked */
    NM_SCALE_NODE_SILENT,  /* it was asked what it keeps, and didn't say */
    NM_SCALE_DEMAND,
    NM_SCALE_MIN_NODES,
    NM_SCALE_MIN_LABEL,
    NM_SCALE_AT_MOST,
    NM_SCALE_REASONS,
};

struct nm_scale_rules {
    uint64_t idle_for_msec;
    uint64_t min_nodes;     /* running nodes that stay */
    uint64_t min_per_label; /* the same in each partition that has a name */
    uint64_t at_most;       /* nodes in one go, UINT64_MAX: no limit */
    bool trust_unknown;     /* what may lie on a node from before is left to the ResourceManager's own check */
};

struct nm_scale_verdict {
    const struct nm_scale_node *node;
    enum nm_scale_reason reason;
    uint64_t since_msec; /* Low since, 0: it isn't */
    const char *app;     /* borrowed, of HAS_DATA and UNKNOWN_DATA */
};

/* One verdict for each node of the model: first those to give, the least useful first, then the others in the same
 * order. They point into the model and the memory, which must outlive them. 0 or -ENOMEM. */
int nm_scale_choose(const struct nm_scale_model *model, const struct nm_scale_memory *memory,
                    const struct nm_scale_rules *rules, struct nm_scale_verdict **ret);

/* "in-use" and the like, for JSON. */
const char *nm_scale_reason_name(enum nm_scale_reason reason);

/* Why a node stays, in plain words; the buffer is returned. */
const char *nm_scale_reason_text(const struct nm_scale_verdict *v, const struct nm_scale_rules *rules,
                                 uint64_t now_msec, char *buf, size_t size);

/* Has demand come back? True if more waits in a partition than its running nodes but `without` have room for, and
 * those would have helped: each of the n could take so much. What no node of theirs could take keeps nobody, but in a
 * partition that has a name: there the sizes aren't known. */
struct nm_scale_capacity {
    const char *id, *label;
    uint64_t mb, vcores;
};
bool nm_scale_demand_is_back(const struct nm_scale_model *model, const struct nm_scale_capacity *without, size_t n);
