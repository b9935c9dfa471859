/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the opportunistic containers of one application master go, when its node and not the ResourceManager says so.
 * Pure: what is asked for, the nodes that the ResourceManager listed, and the time go in; containers' places come out.
 *
 * What a master asks for is a table: an ask is known by priority, allocation request id and size, and a message changes
 * it. All counts are absolute: a message of "3" means that three are wanted, however many were before. The count of "*"
 * is the ask's; those of hosts and racks say how many of them would like to be there, and make no containers of their
 * own.
 *
 * A heartbeat goes in rounds, until one places nothing: in each, asks have their turn by priority (the smaller number
 * first, as for the ResourceManager; Java's allocator has it the other way round) and then by id and size, and each
 * gets at most one container. It goes to a host that was named, else to a rack that was named, else anywhere, but not
 * to a rack or "*" that doesn't relax locality. Of several nodes it is the one with the fewest containers out of this
 * heartbeat, and of these the first in the ResourceManager's order, which is the least loaded.
 * As in Java, a rack and "anywhere" take a host once in a heartbeat; nm_yarn_alloc_limits.fill lifts that.
 *
 * The ResourceManager leaves full nodes out of its list, but doesn't say how much room the others have, and hears of
 * what was placed only with the node's next heartbeat. So with fill a host is given at most a queue's length within
 * that time; without, only room that is known counts.
 *
 * One master can cost so much and no more: the numbers below bound its memory and the time of a heartbeat.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/hadoop/bytes.h"
#include "util/macros.h"

#define NM_YARN_ALLOC_ASKS_MAX 2048u
#define NM_YARN_ALLOC_LOCATIONS_MAX 8192u /* of all asks together */
#define NM_YARN_ALLOC_BLACKLIST_MAX 4096u
#define NM_YARN_ALLOC_NODES_MAX 256u /* what the list has beyond that is left out; the ResourceManager sends ten */
#define NM_YARN_ALLOC_HEARTBEAT_MAX 512u
#define NM_YARN_ALLOC_NAME_MAX 255u /* of a host, a rack, a partition */

/* Beside 0 and -errno. */
enum {
    NM_YARN_ALLOC_INVALID = 1, /* a number below zero, or a name that is empty or too long */
    NM_YARN_ALLOC_TOO_MUCH,    /* it would go beyond one of the numbers above */
};

struct nm_yarn_alloc_size {
    int64_t memory_mib;
    int32_t vcores;
};

/* A ResourceRequest. */
struct nm_yarn_ask {
    int32_t priority;
    int64_t request_id;
    struct nm_yarn_alloc_size size; /* as it was asked for: it is part of the ask's name */
    int32_t count;
    const char *where;     /* a host, a rack (begins with '/'), or "*" */
    const char *partition; /* NULL and "": the default one. Only that of "*" counts. */
    bool relax;
};

/* One heartbeat's. */
struct nm_yarn_alloc_request {
    const struct nm_yarn_ask *asks;
    size_t n_asks;
    /* Hosts. Removals go first. */
    const char *const *blacklist, *const *unblacklist;
    size_t n_blacklist, n_unblacklist;
};

/* As the ResourceManager listed it. */
struct nm_yarn_alloc_node {
    const char *host;
    int32_t port;
    const char *web_address, *rack, *partition; /* may be NULL, which is "" */
    int32_t room; /* how many more its queue takes, where somebody knows (the node itself); -1: nobody does */
};

struct nm_yarn_alloc_limits {
    struct nm_yarn_alloc_size min, max, increment; /* an increment of 0 rounds nothing */
    int32_t per_heartbeat;                         /* containers; 0 and less: no limit but the one above */
    bool fill;            /* several on one host in one heartbeat, as far as there is room */
    int32_t queue_length; /* for fill: of any node; 0: not known, and it lifts nothing where no room is known either */
    uint64_t window_usec; /* after so long, or up to a quarter more, what was placed counts as heard of */
};

enum nm_yarn_alloc_rule {
    NM_YARN_ALLOC_NODE_LOCAL,
    NM_YARN_ALLOC_RACK_LOCAL,
    NM_YARN_ALLOC_ANY,
    NM_YARN_ALLOC_N_RULES,
};

/* Why a node that is listed before the chosen one wasn't taken. */
enum nm_yarn_alloc_pass {
    NM_YARN_ALLOC_BLACKLISTED,
    NM_YARN_ALLOC_OTHER_PARTITION,
    NM_YARN_ALLOC_ELSEWHERE, /* not a host, or not in a rack, that was named */
    NM_YARN_ALLOC_USED,      /* it has a container out of this heartbeat, and may have one only */
    NM_YARN_ALLOC_FULL,      /* as far as is known */
    NM_YARN_ALLOC_BUSIER,    /* it has more containers out of this heartbeat than the chosen one */
    NM_YARN_ALLOC_N_PASSES,
};

struct nm_yarn_alloc_why {
    enum nm_yarn_alloc_rule rule;
    uint16_t listed, position;               /* the position-th of so many, from 1 */
    uint16_t passed[NM_YARN_ALLOC_N_PASSES]; /* their sum is position - 1 */
    uint32_t hosts, racks;                   /* that the ask named when it was placed */
    uint64_t waited_usec;                    /* since the ask last began to want containers */
};

struct nm_yarn_placement {
    const struct nm_yarn_alloc_node *node; /* until the next set_nodes() */
    struct nm_yarn_alloc_size size;        /* within limits: what the container gets */
    int32_t priority;
    int64_t request_id;
    struct nm_yarn_alloc_why why;
};

struct nm_yarn_allocator;

int nm_yarn_allocator_new(struct nm_yarn_allocator **ret);
struct nm_yarn_allocator *nm_yarn_allocator_free(struct nm_yarn_allocator *a);
NM_DEFINE_CLEANUP(struct nm_yarn_allocator *, nm_yarn_allocator_free)

/* Before the first heartbeat, and again after a restore: nothing is placed before that. */
void nm_yarn_allocator_set_limits(struct nm_yarn_allocator *a, const struct nm_yarn_alloc_limits *limits);

/* The list, which takes the place of the former one. What is there twice, by host, or has an impossible name or port is
 * left out. On failure the former list stays. */
int nm_yarn_allocator_set_nodes(struct nm_yarn_allocator *a, const struct nm_yarn_alloc_node *nodes, size_t n);

/*
 * 0, -errno, or one of the two named outcomes above; then what came before that which was refused holds, which does no
 * harm: asked again it means the same. now_usec is of any clock that goes on over restarts of nmd.
 */
int nm_yarn_allocator_ask(struct nm_yarn_allocator *a, const struct nm_yarn_alloc_request *request, uint64_t now_usec);

/* A heartbeat's containers, in the order of their turns; what is placed isn't asked for any more. What finds no place
 * waits for the next. *ret lives until the next call of this. */
int nm_yarn_allocator_allocate(struct nm_yarn_allocator *a, uint64_t now_usec, const struct nm_yarn_placement **ret,
                               size_t *ret_n);

/* ---- what outlives nmd: asks and blacklist, but neither limits nor nodes --------------------- */

int nm_yarn_allocator_pack(const struct nm_yarn_allocator *a, uint8_t **ret, size_t *ret_size);
/* -EBADMSG: that was never packed. Equal tables are packed to equal bytes. */
int nm_yarn_allocator_restore(struct nm_bytes packed, struct nm_yarn_allocator **ret);
/* Changes when what pack() gives does. */
uint64_t nm_yarn_allocator_changes(const struct nm_yarn_allocator *a);

/* ---- for who looks ----------------------------------------------------------------------------- */

struct nm_yarn_alloc_figures {
    size_t asks, blacklisted, nodes;
    uint64_t outstanding;                    /* containers that wait for a place */
    uint64_t placed[NM_YARN_ALLOC_N_RULES]; /* since new() or restore() */
};

struct nm_yarn_alloc_figures nm_yarn_allocator_figures(const struct nm_yarn_allocator *a);
