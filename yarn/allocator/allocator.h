/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chooses nodes for the opportunistic containers of one application master. It is used if the proxy on the master's
 * node allocates these containers in place of the ResourceManager. The code is pure: its input is the asks, the nodes
 * that the ResourceManager has listed, and the time. Its output is the node of each container.
 *
 * The asks of a master form a table. An ask is identified by priority, allocation request id and size. A message
 * changes the counts of an ask. All counts are absolute: a message with the count 3 means that three containers are
 * wanted, whatever the count was before. The count of "*" is the ask's count. The counts of hosts and racks say how
 * many of these containers should preferably be placed there; they don't add containers.
 *
 * A heartbeat consists of passes, until a pass places no container. In each pass, each ask gets at most one container.
 * The asks take turns by priority, then by id and size. A smaller number means a higher priority, as in the
 * ResourceManager; the allocator in Java's NodeManager uses the opposite order. A container is placed on a named host
 * if possible, otherwise in a named rack, otherwise on any node. A rack or "*" that doesn't relax locality is not used.
 * Among several nodes, the node with the fewest containers of this heartbeat is chosen. Among equal nodes, the one with
 * the most measured unused memory is chosen, and without measurements the least loaded: the first in the
 * ResourceManager's order. As in Java, the rules for a rack and for "any node"
 * use each host only once in a heartbeat. nm_yarn_alloc_limits.fill removes this restriction.
 *
 * The ResourceManager leaves full nodes out of its list, but it doesn't report how much room the listed nodes have. It
 * is informed of a placement only by the node's next heartbeat. So if `fill` is true, at most queue_length containers
 * are placed within window_usec on a node that hasn't reported its room. If `fill` is false, only room that the node
 * has reported counts.
 *
 * Nodes can report how much room they have, by the measured use of their memory (nm_yarn_alloc_measure). If a node's
 * room is known, a container that doesn't fit is placed there only if no other node can take it, because it would wait
 * in the node's queue. A container that is lent (limits.lends) is not placed there at all: it should use memory that is
 * unused now, and its master doesn't know that it may wait. For the same reason, a lent container is placed only on
 * nodes that run nmd: other NodeManagers start opportunistic containers only in room that is not allocated. The memory
 * that is lent on one node can be limited (limits.lendable). A container counts as soon as it is placed, so the first
 * heartbeat keeps the limit, too.
 *
 * The limits below restrict the memory that one master can use, and the time that a heartbeat takes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/hadoop/bytes.h"
#include "util/macros.h"

#define NM_YARN_ALLOC_ASKS_MAX 2048u
#define NM_YARN_ALLOC_LOCATIONS_MAX 8192u /* limit for the locations of all asks together */
#define NM_YARN_ALLOC_BLACKLIST_MAX 4096u
#define NM_YARN_ALLOC_NODES_MAX 256u /* further nodes in the list are ignored; the ResourceManager sends ten */
#define NM_YARN_ALLOC_HEARTBEAT_MAX 512u
#define NM_YARN_ALLOC_NAME_MAX 255u /* length of the name of a host, a rack or a partition */

/* Positive outcomes. Functions also return 0 and -errno. */
enum {
    NM_YARN_ALLOC_INVALID = 1, /* a number is negative, or a name is empty or too long */
    NM_YARN_ALLOC_TOO_MUCH,    /* the request would exceed one of the limits above */
};

struct nm_yarn_alloc_size {
    int64_t memory_mib;
    int32_t vcores;
};

/* One ResourceRequest of a master. */
struct nm_yarn_ask {
    int32_t priority;
    int64_t request_id;
    struct nm_yarn_alloc_size size; /* the requested size, which is part of the ask's identity */
    int32_t count;
    const char *where;     /* a host, a rack (begins with '/'), or "*" */
    const char *partition; /* NULL and "": the default partition. Only the partition in the message for "*" counts. */
    bool relax;
};

/* The request of one heartbeat. */
struct nm_yarn_alloc_request {
    const struct nm_yarn_ask *asks;
    size_t n_asks;
    /* Host names. Removals are applied before additions. */
    const char *const *blacklist, *const *unblacklist;
    size_t n_blacklist, n_unblacklist;
};

/* One node, as the ResourceManager listed it. */
struct nm_yarn_alloc_node {
    const char *host;
    int32_t port;
    const char *web_address, *rack, *partition; /* NULL has the same meaning as "" */
    int32_t room; /* how many more containers the node's queue takes, as reported by the node; -1: unknown */
};

enum nm_yarn_alloc_kind { NM_YARN_ALLOC_UNKNOWN, NM_YARN_ALLOC_NMD, NM_YARN_ALLOC_OTHER };

/* Time for which a measurement is used. */
#define NM_YARN_ALLOC_FRESH_USEC (15 * NM_USEC_PER_SEC)

/* What a node has reported. */
struct nm_yarn_alloc_measure {
    enum nm_yarn_alloc_kind kind;
    bool awaited; /* the node was asked a short time ago, and its answer is awaited */
    bool measured; /* the next members are valid */
    bool admits;   /* the node starts opportunistic containers that fit */
    int64_t unused_memory_mib;
    uint64_t at_usec; /* time of the measurement, by the clock of nm_yarn_allocator_allocate() */
    /* Not reported by the node: the memory of containers that all masters of this proxy have placed there, and that the
     * measurement may not include. The allocator itself remembers its own placements only. */
    int64_t claimed_mib;
    int64_t observed_mib; /* the memory of containers that would have been lent there, if lending is only observed; the
                             functions for what is startable subtract it, and placements ignore it */
};

struct nm_yarn_alloc_limits {
    struct nm_yarn_alloc_size min, max, increment; /* an increment of 0 means no rounding */
    int32_t per_heartbeat;                         /* maximum number of containers; <= 0: NM_YARN_ALLOC_HEARTBEAT_MAX */
    bool fill;            /* place several containers on one host in one heartbeat if it has room */
    int32_t queue_length; /* with fill: length of each node's queue; 0: unknown, only reported room counts */
    uint64_t window_usec; /* time (plus up to a quarter) after which the ResourceManager's list includes a placement */
    bool lends;           /* the containers are lent to their application, unless is_own() returns true */
    /* With lends: whether the application itself asks for opportunistic containers with this key. NULL: it doesn't. */
    bool (*is_own)(const void *userdata, int32_t priority, int64_t request_id);
    /* With lends: the memory in MiB that may still be lent to the application on this node. Is called for each node at
     * the start of a heartbeat, and by nm_yarn_allocator_lendable_mib(). NULL: no limit. */
    int64_t (*lendable)(const void *userdata, const char *host, int32_t port);
    const void *userdata; /* of is_own and lendable */
    bool lends_to_unknown; /* with lends: a node whose room isn't known may get containers, unless its answer is awaited
                              or it is known that it doesn't run nmd */
};

enum nm_yarn_alloc_rule {
    NM_YARN_ALLOC_NODE_LOCAL,
    NM_YARN_ALLOC_RACK_LOCAL,
    NM_YARN_ALLOC_ANY,
    NM_YARN_ALLOC_N_RULES,
};

/* Reason why a node that the list contains before the chosen node was skipped. */
enum nm_yarn_skip_reason {
    NM_YARN_SKIP_BLACKLISTED,
    NM_YARN_SKIP_OTHER_PARTITION,
    NM_YARN_SKIP_ELSEWHERE,  /* the node is not a named host, or not in a named rack */
    NM_YARN_SKIP_USED,       /* the node already has a container of this heartbeat, and may have only one */
    NM_YARN_SKIP_FULL,       /* the node has no room, according to the available data */
    NM_YARN_SKIP_BUSIER,     /* the node has more containers of this heartbeat than the chosen node */
    NM_YARN_SKIP_OTHER_KIND,   /* the node runs another NodeManager, and the container is lent */
    NM_YARN_SKIP_UNANSWERED,   /* the node's room is not known, and the container is lent */
    NM_YARN_SKIP_NOT_ADMITTING, /* the node starts no opportunistic containers at present, as it has reported */
    NM_YARN_SKIP_NO_MEMORY,     /* the node has too little unused memory for the container, as it has reported */
    NM_YARN_SKIP_LESS_MEMORY,   /* the node has less unused memory than the chosen node, or unknown unused memory */
    NM_YARN_SKIP_LENT_LIMIT,    /* the limit of memory that is lent on the node leaves too little for the container */
    NM_YARN_N_SKIP_REASONS,
};

struct nm_yarn_alloc_why {
    enum nm_yarn_alloc_rule rule;
    uint16_t listed, position;                /* number of listed nodes; the chosen node's position, from 1 */
    uint16_t skipped[NM_YARN_N_SKIP_REASONS]; /* counts per reason; their sum is position - 1 */
    uint32_t hosts, racks;                    /* numbers of hosts and racks that the ask named at that time */
    uint64_t waited_usec;                     /* time since the ask last began to want containers */
};

struct nm_yarn_placement {
    const struct nm_yarn_alloc_node *node; /* valid until the next nm_yarn_allocator_set_nodes() */
    struct nm_yarn_alloc_size size;        /* the container's size, after the limits were applied */
    int32_t priority;
    int64_t request_id;
    struct nm_yarn_alloc_why why;
};

struct nm_yarn_allocator;

int nm_yarn_allocator_new(struct nm_yarn_allocator **ret);
struct nm_yarn_allocator *nm_yarn_allocator_free(struct nm_yarn_allocator *a);
NM_DEFINE_CLEANUP(struct nm_yarn_allocator *, nm_yarn_allocator_free)

/* Sets the limits. Must be called before the first heartbeat and after a restore: without limits, no container is
 * placed. */
void nm_yarn_allocator_set_limits(struct nm_yarn_allocator *a, const struct nm_yarn_alloc_limits *limits);

/* Replaces the list of nodes. Leaves out a node whose host is already in the list, or whose name or port is invalid. On
 * failure, the former list is kept. */
int nm_yarn_allocator_set_nodes(struct nm_yarn_allocator *a, const struct nm_yarn_alloc_node *nodes, size_t n);

/* Asks for the newest measurement of each listed node. Must be called before a heartbeat and after
 * nm_yarn_allocator_set_limits(); without a call, the former measurements hold. */
typedef void (*nm_yarn_alloc_look_up_t)(void *userdata, const struct nm_yarn_alloc_node *node,
                                        struct nm_yarn_alloc_measure *ret);
void nm_yarn_allocator_measure(struct nm_yarn_allocator *a, uint64_t now_usec, nm_yarn_alloc_look_up_t look_up,
                               void *userdata);

/*
 * Applies one request to the table. Returns 0, -errno, or one of the two outcomes above. After such an outcome, the
 * parts of the request before the refused part have been applied. This is harmless: counts are absolute, so the request
 * can be repeated. now_usec: the time of any clock that continues across restarts of nmd.
 */
int nm_yarn_allocator_ask(struct nm_yarn_allocator *a, const struct nm_yarn_alloc_request *request, uint64_t now_usec);

/* Places the containers of a heartbeat, and returns them in the order of their turns. Reduces the counts of the asks by
 * the placed containers. The other containers wait for the next heartbeat. *ret is valid until the next call. */
int nm_yarn_allocator_allocate(struct nm_yarn_allocator *a, uint64_t now_usec, const struct nm_yarn_placement **ret,
                               size_t *ret_n);

/* Returns the memory in MiB of the largest container that limits.lendable allows to be lent on one of the listed nodes,
 * without those that never get one: nodes of another partition, blacklisted ones, and other NodeManagers. INT64_MAX:
 * there is no limit, or no node is listed. Must be called only while limits.lendable may be called. */
int64_t nm_yarn_allocator_lendable_mib(const struct nm_yarn_allocator *a);

/* Returns how many lent containers of the size, for any node, a heartbeat would place now if nothing else was asked
 * for: what the listed nodes can start by their measurements, as far as limits.lendable, their queues and the limits
 * of a heartbeat allow it. Must be called only while limits.lendable may be called. */
uint32_t nm_yarn_allocator_startable(const struct nm_yarn_allocator *a, struct nm_yarn_alloc_size size,
                                     uint64_t now_usec);
/* Finds at most n nodes on which a heartbeat would place these containers, and places none. Returns the number of
 * nodes, and sets *size to the size that the containers would have. The nodes are valid until the next
 * nm_yarn_allocator_set_nodes(). */
size_t nm_yarn_allocator_try(const struct nm_yarn_allocator *a, struct nm_yarn_alloc_size *size, uint64_t now_usec,
                             const struct nm_yarn_alloc_node **ret, size_t n);
/* Returns whether no listed node has a recent measurement, and the answer of at least one of them is awaited. */
bool nm_yarn_allocator_is_awaiting(const struct nm_yarn_allocator *a, uint64_t now_usec);

/* ---- state that survives a restart of nmd: asks and blacklist, without limits and nodes -------- */

int nm_yarn_allocator_pack(const struct nm_yarn_allocator *a, uint8_t **ret, size_t *ret_size);
/* Restores a packed table. Returns -EBADMSG if the bytes were not made by pack(). Equal tables are packed to equal
 * bytes. */
int nm_yarn_allocator_restore(struct nm_bytes packed, struct nm_yarn_allocator **ret);
/* Returns a counter that changes whenever the result of pack() changes. */
uint64_t nm_yarn_allocator_revision(const struct nm_yarn_allocator *a);

/* ---- figures for reports --------------------------------------------------------------------- */

struct nm_yarn_alloc_figures {
    size_t asks, blacklisted, nodes;
    uint64_t outstanding;                    /* number of containers that have not been placed yet */
    uint64_t placed[NM_YARN_ALLOC_N_RULES]; /* number of placements since new() or restore() */
};

struct nm_yarn_alloc_figures nm_yarn_allocator_figures(const struct nm_yarn_allocator *a);

/* ---- reasons in plain words: placement-reason.c -------------------------------------------------------- */

#define NM_YARN_WHY_SIZE 2048

const char *nm_yarn_alloc_rule_name(enum nm_yarn_alloc_rule rule); /* "node-local", "rack-local", "any" */
const char *nm_yarn_skip_reason_name(enum nm_yarn_skip_reason reason); /* name of a JSON member: "other_partition" */

/* Writes a summary in one line, such as "placed on n7:45454, node-local". */
void nm_yarn_placement_summary(const struct nm_yarn_placement *p, char *buf, size_t size);
/* Writes several sentences, one per line: the rule, which nodes of the list were passed over, and the waiting time. */
void nm_yarn_placement_explain(const struct nm_yarn_placement *p, char *buf, size_t size);
