/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The private declarations of the allocator behind allocator.h. The files are layers: tests/style has their order. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "yarn/allocator/allocator.h"

/* ---- names.c ------------------------------------------------------------------------------ */

/* A sorted list of names, each with a count. It is used for the hosts or racks of an ask. It is also used for a
 * blacklist, which doesn't use the counts. */
struct nm_yarn_ask_name {
    char *name;
    int32_t count;
    bool relax;
};

struct nm_yarn_ask_names {
    struct nm_yarn_ask_name *list;
    size_t n, allocated;
};

void nm_yarn_ask_names_done(struct nm_yarn_ask_names *names);
struct nm_yarn_ask_name *nm_yarn_ask_names_find(const struct nm_yarn_ask_names *names, const char *name);
/* Adds a name, or changes its count. Returns 0 if the list already had this entry, 1 if the list has changed, or
 * -ENOMEM. */
int nm_yarn_ask_names_set(struct nm_yarn_ask_names *names, const char *name, int32_t count, bool relax);
/* Returns true if the name was in the list. */
bool nm_yarn_ask_names_remove(struct nm_yarn_ask_names *names, const char *name);

/* ---- ask-table.c -------------------------------------------------------------------------- */

/* The asks of one application master, in the order in which they take turns. */

/* One ask. An ask with a count of 0 is kept, because the message with the count of a location may arrive before the
 * message with the count of "*". */
struct nm_yarn_ask_entry {
    int32_t priority;
    int64_t request_id;
    struct nm_yarn_alloc_size size;
    int32_t count;
    bool relax;
    char *partition; /* NULL: the default partition */
    struct nm_yarn_ask_names hosts, racks;
    uint64_t since_usec; /* when the ask last began to want containers */
    bool stuck;          /* no node has room for this ask in this heartbeat */
};

struct nm_yarn_ask_table {
    struct nm_yarn_ask_entry **list;
    size_t n, allocated;
    size_t n_locations;
    uint64_t revision;
};

void nm_yarn_ask_table_done(struct nm_yarn_ask_table *t);

/* Returns false if the name is empty or too long. */
bool nm_yarn_ask_name_is_valid(const char *name);

/* Applies one message to the table. Returns 0, -ENOMEM, or an outcome of allocator.h. */
int nm_yarn_ask_table_put(struct nm_yarn_ask_table *t, const struct nm_yarn_ask *ask, uint64_t now_usec);

/* Counts a container that was given to the i-th ask. host or rack: the requested host or rack that determined the node;
 * both are NULL if neither did. Returns true if the ask now has all its containers. The ask has then been removed, and
 * the next ask has the index i. */
bool nm_yarn_ask_table_charge(struct nm_yarn_ask_table *t, size_t i, const char *host, const char *rack);

/* Returns the number of containers that all asks together still want. */
uint64_t nm_yarn_ask_table_outstanding(const struct nm_yarn_ask_table *t);

/* ---- nodes.c ------------------------------------------------------------------------------ */

/* The nodes that the ResourceManager has listed, and the recent placements on them. */

/* Time is divided into quarters of the window. A placement counts in the quarter in which it was made and in the four
 * quarters after it. */
#define NM_YARN_RECENT_QUARTERS 5

struct nm_yarn_recent_placements {
    uint64_t quarter; /* number of the newest quarter, counted from the start of the clock */
    uint32_t count[NM_YARN_RECENT_QUARTERS];
    int64_t memory_mib[NM_YARN_RECENT_QUARTERS];
};

struct nm_yarn_candidate {
    struct nm_yarn_alloc_node is;            /* the candidate owns these strings, which are never NULL */
    uint32_t used;                           /* number of containers placed on the node in this heartbeat */
    struct nm_yarn_recent_placements recent; /* the node's reported queue may not include these placements yet */
    bool blacklisted;
    struct nm_yarn_alloc_measure measure;
    bool is_fresh;       /* the measurement may be used in this heartbeat */
    int64_t claimed_mib; /* memory of this allocator's placements that the measurement may not include */
    int64_t lendable_mib; /* memory that may still be lent on the node in this heartbeat */
};

struct nm_yarn_candidates {
    struct nm_yarn_candidate *list;
    size_t n;
    uint16_t *by_host, *by_rack; /* indices, sorted by host or rack */
};

void nm_yarn_candidates_done(struct nm_yarn_candidates *nodes);
/* Replaces the list of nodes. A host that is in the former list too keeps its recent placements. */
int nm_yarn_candidates_set(struct nm_yarn_candidates *nodes, const struct nm_yarn_alloc_node *from, size_t n);

/* Set named[i] for each node that is one of these hosts, or that is in one of these racks if the rack relaxes
 * locality. A master may name thousands of hosts and racks. The cost grows with the number of names, not with the
 * number of names times the number of nodes. */
void nm_yarn_candidates_mark_hosts(const struct nm_yarn_candidates *nodes, const struct nm_yarn_ask_names *hosts,
                                   bool *named);
void nm_yarn_candidates_mark_racks(const struct nm_yarn_candidates *nodes, const struct nm_yarn_ask_names *racks,
                                   bool *named);

/* Starts a heartbeat. */
void nm_yarn_candidates_begin(struct nm_yarn_candidates *nodes, const struct nm_yarn_ask_names *blacklist,
                              const struct nm_yarn_alloc_limits *limits, uint64_t now_usec);
/* Returns how many more containers may be placed on the node in this heartbeat; -1: unknown. */
int64_t nm_yarn_candidate_room(const struct nm_yarn_candidate *node, int32_t queue_length);
/* Returns whether the node's measurement may be used. */
bool nm_yarn_candidate_is_fresh(const struct nm_yarn_candidate *node, uint64_t now_usec);
/* Returns the memory of placements that the measurement may not include. */
int64_t nm_yarn_candidate_claimed_mib(const struct nm_yarn_candidate *node);
/* Returns the unused memory that is left on the node; -1: unknown. */
int64_t nm_yarn_candidate_unused_mib(const struct nm_yarn_candidate *node);
/* Counts a container that was placed on the node in the current heartbeat. */
void nm_yarn_candidate_charge(struct nm_yarn_candidate *node, int64_t memory_mib, bool is_lent);
/* Replaces the node's measurement. */
void nm_yarn_candidate_measure(struct nm_yarn_candidate *node, const struct nm_yarn_alloc_measure *measure,
                               uint64_t window_usec, uint64_t now_usec);

/* ---- choose-node.c ----------------------------------------------------------------------------- */

/* Returns the size of a container for an ask of this size. */
struct nm_yarn_alloc_size nm_yarn_normal_size(const struct nm_yarn_alloc_limits *l, struct nm_yarn_alloc_size size);
/* Returns whether the containers of an ask are lent. */
bool nm_yarn_ask_is_lent(const struct nm_yarn_alloc_limits *l, const struct nm_yarn_ask_entry *ask);

/* Chooses the node for the next container of one ask, and determines the rule by which the node was chosen. Returns
 * NULL if no node can take the container in this heartbeat. Fills *ret_why, except for the time that the ask has
 * waited. */
struct nm_yarn_candidate *nm_yarn_choose_candidate(const struct nm_yarn_candidates *nodes,
                                                   const struct nm_yarn_ask_entry *ask,
                                                   const struct nm_yarn_alloc_limits *limits,
                                                   struct nm_yarn_alloc_why *ret_why);

/* ---- allocator.c -------------------------------------------------------------------------- */

struct nm_yarn_allocator {
    struct nm_yarn_ask_table asks;
    struct nm_yarn_ask_names blacklist;
    struct nm_yarn_candidates nodes;
    bool has_limits;
    struct nm_yarn_alloc_limits limits;
    uint64_t blacklist_revision;
    struct nm_yarn_placement *placed; /* the placements of the last heartbeat */
    size_t placed_allocated;
    uint64_t placed_by_rule[NM_YARN_ALLOC_N_RULES];
};
