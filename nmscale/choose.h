/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chooses the nodes that can be given back. The functions are pure: no clock, no I/O, the same facts give the same
 * result. A node can be given back if all of the following is true. It has been Low for long enough. It can't hold data
 * of a running application. It is the only node on its host, because the exclude file contains only hosts. The other
 * nodes have room for all waiting requests. Enough nodes remain, both in total and in the node's partition. If the
 * facts are incomplete, the node stays. The least useful node is chosen first: the one with the least memory, then the
 * fewest vcores, then the longest time Low, then by name.
 */

#include "nmscale/memory.h"
#include "nmscale/model.h"

enum nm_scale_reason {
    NM_SCALE_GIVE,
    NM_SCALE_NOT_RUNNING,
    NM_SCALE_IN_USE,
    NM_SCALE_SHARED_HOST,
    NM_SCALE_IDLE_SHORT,
    /* a running application was seen on the node, or the node reports such an application's data */
    NM_SCALE_HAS_DATA,
    NM_SCALE_UNKNOWN_DATA, /* a running application may have been on the node before the first poll */
    NM_SCALE_NODE_SILENT,  /* the NodeManager was asked for its applications, and didn't answer */
    NM_SCALE_DEMAND,
    NM_SCALE_MIN_NODES,
    NM_SCALE_MIN_LABEL,
    NM_SCALE_AT_MOST,
    NM_SCALE_REASONS,
};

struct nm_scale_rules {
    uint64_t idle_for_msec;
    uint64_t min_nodes;     /* running nodes that stay */
    uint64_t min_per_label; /* running nodes that stay in each partition that has a name */
    uint64_t at_most;       /* nodes per run, UINT64_MAX: no limit */
    bool trust_unknown;     /* ignore possible data from before the first poll, because the ResourceManager makes its
                               own check */
};

struct nm_scale_verdict {
    const struct nm_scale_node *node;
    enum nm_scale_reason reason;
    uint64_t since_msec; /* time since which the node has been Low; 0: the node isn't Low */
    const char *app;     /* id of the application, borrowed; for HAS_DATA and UNKNOWN_DATA */
};

/* Returns one verdict for each node of the model. The nodes to give back come first, the least useful node first, then
 * the other nodes in the same order. The verdicts point into the model and the memory, which must outlive the verdicts.
 * Fails with -ENOMEM. */
int nm_scale_choose(const struct nm_scale_model *model, const struct nm_scale_memory *memory,
                    const struct nm_scale_rules *rules, struct nm_scale_verdict **ret);

/* Returns the reason's name for JSON, such as "in-use". */
const char *nm_scale_reason_name(enum nm_scale_reason reason);

/* Writes in plain words why a node stays. Returns the buffer. */
const char *nm_scale_reason_text(const struct nm_scale_verdict *v, const struct nm_scale_rules *rules,
                                 uint64_t now_msec, char *buf, size_t size);

/* The capacity of a node at the time of its selection. */
struct nm_scale_capacity {
    const char *id, *label;
    uint64_t mb, vcores;
};

/* Returns whether the waiting requests need the selected nodes again: in a partition, more requests are waiting than
 * fit on the running nodes that are not in `removed`, and the nodes in `removed` would help. removed: the selected
 * nodes, with their capacities at the time of the selection, because the ResourceManager reports no free resources for
 * a node that is being decommissioned. Requests that don't fit on any of these nodes don't count, except in a partition
 * with a name, where the sizes of requests aren't known. */
bool nm_scale_demand_has_returned(const struct nm_scale_model *model, const struct nm_scale_capacity *removed,
                                  size_t n);
