/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decides when the node reports its labels or attributes to the ResourceManager, and records whether it has accepted
 * them. A registration contains them. A heartbeat contains them only if they have changed, if the last report got no
 * answer, or if the interval of resync-interval-ms has passed. The code is pure.
 */

#include <stdint.h>

#include "rpc/hadoop/arena.h"
#include "yarn/labels/descriptors.h"
#include "yarn/tracker.pb-c.h"

enum nm_yarn_descriptor_state {
    NM_YARN_DESCRIPTORS_UNREPORTED, /* the ResourceManager has not answered a report yet */
    NM_YARN_DESCRIPTORS_ACCEPTED,
    NM_YARN_DESCRIPTORS_REFUSED,
};

/* A report that is initialized with the resync_usec alone has sent nothing yet. */
struct nm_yarn_descriptor_report {
    uint64_t resync_usec;
    struct nm_yarn_descriptors sent; /* the set of the last request that contained one */
    uint64_t sent_usec;
    bool in_request; /* the request in progress contains `sent` */
    bool is_other;   /* `sent` isn't the set that was answered last */
    bool answered;   /* the ResourceManager has answered the request with `sent` */
    enum nm_yarn_descriptor_state state; /* of the last answered set */
    char why[200];   /* the ResourceManager's reason for a refusal; "" if it gave none */
};

void nm_yarn_descriptor_report_done(struct nm_yarn_descriptor_report *r);

/* Chooses what the next request contains. current: the provider's set, or NULL. Returns 1 if the request must contain
 * the set, 0 if not. Must be called before each request. */
int nm_yarn_descriptor_report_choose(struct nm_yarn_descriptor_report *r, const struct nm_yarn_descriptors *current,
                                     bool registers, uint64_t now_usec);
/* Handles the answer to the request. repeats: the request was sent twice, so the answer may be the one to another set,
 * and is ignored. Returns true if the set or the outcome differs from that of the answer before. */
bool nm_yarn_descriptor_report_answer(struct nm_yarn_descriptor_report *r, bool repeats, bool accepted,
                                      const char *diagnostics);

/* Make the messages in the arena. NULL: its memory is used up. */
Yarn__NodeLabels *nm_yarn_descriptor_report_labels(const struct nm_yarn_descriptors *d, struct nm_arena *arena);
Yarn__NodeAttributes *nm_yarn_descriptor_report_attributes(const struct nm_yarn_descriptors *d, struct nm_arena *arena);
