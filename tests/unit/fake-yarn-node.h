/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* yarn/node/node.h without a manager behind it: it does what it is asked for, in words. */

#include "yarn/node/node.h"

struct nm_yarn_node {
    char heard[4000];        /* a line for each request */
    int result;              /* of the next ones */
    struct nm_exception why; /* with a positive result */
};
