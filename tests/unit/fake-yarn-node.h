/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A node (yarn/node/node.h) without a manager behind it: this node only records the requests. */

#include "yarn/node/node.h"

struct nm_yarn_node {
    char calls[4000];        /* a line for each request */
    int result;              /* result of the next requests */
    struct nm_exception why; /* the exception that belongs to a positive result */
    struct nm_yarn_node_room room;
    int64_t adopted; /* the fake node reports this container as accepted by an earlier nmd; 0: none */
    uint64_t must_wait_bytes; /* the fake node lets containers of at least this size wait; 0: it lets none wait */
    bool running_is_guaranteed;
    int64_t queued, running; /* the fake node reports these containers as queued and as running; 0: none */
};
