/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chooses nodes for the opportunistic containers of one application master, when its node allocates them and not the
 * ResourceManager. The code is pure: its input is the asks, the nodes that the ResourceManager listed, and the time.
 * The output is the containers' places.
 *
 * The asks of a master form a table. An ask is identified by priority, allocation request id and size, and a message
 * changes it. All counts are absolute: a message of "3" means that three containers are wanted, whatever the count was
 * before. The count of "*" is the ask's count. The counts of hosts and racks say how many of these containers prefer
 * that place; these counts add no containers.
 *
 * A heartbeat works in passes, until a pass places no container. In each pass, asks take their turn by priority (the
 * smaller number first, as in the ResourceManager; the allocator in Java's NodeManager uses the opposite order), then
 * by id and size, and each ask gets at most one container. The container goes to a named host, else to a named rack,
 * else anywhere, but not to a rack or "*" that doesn't relax locality. Among several nodes, the one with the fewest
 * containers of this heartbeat is chosen, and among equals the first in the ResourceManager's order, which is the least
 * loaded. As in Java, the rules for a rack and for "anywhere" use a host once in a heartbeat; nm_yarn_alloc_limits.fill
 * lifts this limit.
 *
 * The ResourceManager leaves full nodes out of its list, but doesn't report how much room the other nodes have, and
 * learns of placements only with the node's next heartbeat. So with fill, a host is given at most a queue's length of
 * containers within that time. Without fill, only room that is known counts.
 *
 * The limits below bound the memory that one master costs and the time of a heartbeat.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/hadoop/bytes.h"
#include "util/macros.h"

#define NM_YARN_ALLOC_ASKS_MAX 2048u
#define NM_YARN_ALLOC_LOCATIONS_MAX 8192u /* limit for all asks together */
#define NM_YARN_ALLOC_BLACKLIST_MAX 4096u
#define NM_YARN_ALLOC_NODES_MAX 256u /* the rest of the list is ignored; the ResourceManager sends ten */
#define NM_YARN_ALLOC_HEARTBEAT_MAX 512u
#define NM_YARN_ALLOC_NAME_MAX 255u /* length of the name of a host, a rack or a partition */

/* Positive outcomes, in addition to 0 and -errno. */
enum {
    NM_YARN_ALLOC_INVALID = 1, /* a number is negative, or a name is empty or too long */
    NM_YARN_ALLOC_TOO_MUCH,    /* the request would exceed one of the limits above */
};

struct nm_yarn_alloc_size {
    int64_t memory_mib;
    int32_t vcores;
};

/* One ResourceRequest. */
struct nm_yarn_ask {
    int32_t priority;
    int64_t request_id;
    struct nm_yarn_alloc_size size; /* the requested size, which is part of the ask's identity */
    int32_t count;
    const char *where;     /* a host, a rack (begins with '/'), or "*" */
    const char *partition; /* NULL and "": the default partition. Only the partition of "*" counts. */
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
    int32_t room; /* how many more containers the node's queue takes, reported by the node itself; -1: unknown */
};

struct nm_yarn_alloc_limits {
    struct nm_yarn_alloc_size min, max, increment; /* an increment of 0 means no rounding */
    int32_t per_heartbeat;                         /* maximum number of containers; <= 0: NM_YARN_ALLOC_HEARTBEAT_MAX */
    bool fill;            /* place several containers on one host in one heartbeat, as far as there is room */
    int32_t queue_length; /* with fill: length of any node's queue; 0: unknown, then fill needs a known room */
    uint64_t window_usec; /* age (up to a quarter more) at which the ResourceManager knows a placement */
};

enum nm_yarn_alloc_rule {
    NM_YARN_ALLOC_NODE_LOCAL,
    NM_YARN_ALLOC_RACK_LOCAL,
    NM_YARN_ALLOC_ANY,
    NM_YARN_ALLOC_N_RULES,
};

/* Reason why a node that is listed before the chosen one was passed over. */
enum nm_yarn_alloc_pass {
    NM_YARN_ALLOC_BLACKLISTED,
    NM_YARN_ALLOC_OTHER_PARTITION,
    NM_YARN_ALLOC_ELSEWHERE, /* the node is not a named host, or not in a named rack */
    NM_YARN_ALLOC_USED,      /* the node has a container of this heartbeat, and may have only one */
    NM_YARN_ALLOC_FULL,      /* the node has no room, as far as is known */
    NM_YARN_ALLOC_BUSIER,    /* the node has more containers of this heartbeat than the chosen one */
    NM_YARN_ALLOC_N_PASSES,
};

struct nm_yarn_alloc_why {
    enum nm_yarn_alloc_rule rule;
    uint16_t listed, position;               /* number of nodes listed, and the place of the chosen one, from 1 */
    uint16_t passed[NM_YARN_ALLOC_N_PASSES]; /* counts per reason; their sum is position - 1 */
    uint32_t hosts, racks;                   /* numbers of hosts and racks that the ask named when it was placed */
    uint64_t waited_usec;                    /* time since the ask last started to want containers */
};

struct nm_yarn_placement {
    const struct nm_yarn_alloc_node *node; /* valid until the next set_nodes() */
    struct nm_yarn_alloc_size size;        /* the container's size, after the limits were applied */
    int32_t priority;
    int64_t request_id;
    struct nm_yarn_alloc_why why;
};

struct nm_yarn_allocator;

int nm_yarn_allocator_new(struct nm_yarn_allocator **ret);
struct nm_yarn_allocator *nm_yarn_allocator_free(struct nm_yarn_allocator *a);
NM_DEFINE_CLEANUP(struct nm_yarn_allocator *, nm_yarn_allocator_free)

/* Sets the limits. Required before the first heartbeat, and again after a restore: without limits, no container is
 * placed. */
void nm_yarn_allocator_set_limits(struct nm_yarn_allocator *a, const struct nm_yarn_alloc_limits *limits);

/* Replaces the list of nodes. Omits a node whose host is in the list already, or whose name or port is invalid. On
 * failure, the former list stays. */
int nm_yarn_allocator_set_nodes(struct nm_yarn_allocator *a, const struct nm_yarn_alloc_node *nodes, size_t n);

/*
 * Applies one request to the table. Returns 0, -errno, or one of the two named outcomes above. After an outcome, the
 * parts before the refused one have been applied. This is harmless, since counts are absolute and the same request can
 * be repeated. now_usec is of any clock that continues across restarts of nmd.
 */
int nm_yarn_allocator_ask(struct nm_yarn_allocator *a, const struct nm_yarn_alloc_request *request, uint64_t now_usec);

/* Places a heartbeat's containers and returns them in the order of their turns. Placed containers are no longer asked
 * for. The others wait for the next heartbeat. *ret is valid until the next call. */
int nm_yarn_allocator_allocate(struct nm_yarn_allocator *a, uint64_t now_usec, const struct nm_yarn_placement **ret,
                               size_t *ret_n);

/* ---- state that survives a restart of nmd: asks and blacklist, without limits and nodes -------- */

int nm_yarn_allocator_pack(const struct nm_yarn_allocator *a, uint8_t **ret, size_t *ret_size);
/* Returns -EBADMSG if the bytes were not made by pack(). Equal tables are packed to equal bytes. */
int nm_yarn_allocator_restore(struct nm_bytes packed, struct nm_yarn_allocator **ret);
/* Returns a counter that changes whenever the result of pack() changes. */
uint64_t nm_yarn_allocator_changes(const struct nm_yarn_allocator *a);

/* ---- figures for reports --------------------------------------------------------------------- */

struct nm_yarn_alloc_figures {
    size_t asks, blacklisted, nodes;
    uint64_t outstanding;                    /* number of containers that wait for a place */
    uint64_t placed[NM_YARN_ALLOC_N_RULES]; /* number of placements since new() or restore() */
};

struct nm_yarn_alloc_figures nm_yarn_allocator_figures(const struct nm_yarn_allocator *a);

/* ---- reasons in plain words: why.c -------------------------------------------------------- */

#define NM_YARN_WHY_SIZE 1536

const char *nm_yarn_alloc_rule_name(enum nm_yarn_alloc_rule rule); /* "node-local", "rack-local", "any" */
const char *nm_yarn_alloc_pass_name(enum nm_yarn_alloc_pass pass); /* name of a JSON member: "other_partition" */

/* Writes one line: "placed on n7:45454, node-local". */
void nm_yarn_why_summary(const struct nm_yarn_placement *p, char *buf, size_t size);
/* Writes several sentences, one per line: the rule, which nodes of the list were passed over, and the waiting time. */
void nm_yarn_why_explain(const struct nm_yarn_placement *p, char *buf, size_t size);
