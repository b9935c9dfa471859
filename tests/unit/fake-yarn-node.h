/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A node (yarn/node/node.h) without a manager behind it: this node only records the requests. */

#include "yarn/node/node.h"

struct nm_yarn_node {
    char calls[4000];        /* a line for each request */
    int result;              /* result of the next requests */
    struct nm_exception why; /* the exception that belongs to a positive result */
    struct nm_yarn_node_room room;
    int64_t adopted; /* number of the container that an earlier nmd has accepted; 0: none */
    uint64_t must_wait_bytes; /* containers of this memory or more must wait for others to end; 0: none must */
    int64_t queued, running; /* the fake node reports these containers as queued and as running; 0: none */
};
