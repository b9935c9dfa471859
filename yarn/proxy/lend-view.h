/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the status shows of lending to the master of one attempt. */

#include "yarn/conf/lending.h"
#include "yarn/lend/lend.h"

/* The data of one attempt. The stage that lends fills it in. The strings and the books belong to the stage. */
struct nm_yarn_lend_view {
    const struct nm_lend *books;
    struct nm_yarn_lending_choice choice; /* the rule that applies at present, and its source */
    const char *queue, *type;             /* NULL: not known yet */
    uint64_t now_usec;                    /* the present time, by the books' clock */
    const struct nm_lend *former; /* the books of the attempt before this one, for its containers; may be NULL */
};
