/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stores where and why the newest containers were placed: a log of slot-log.h.
 */

#include <stdint.h>

#include "yarn/allocator/allocator.h"
#include "yarn/proxy/slot-log.h"

struct nm_yarn_logged_placement {
    struct nm_yarn_slot_entry is;
    char *host, *rack;
    int32_t port;
    uint64_t realtime_usec;
    struct nm_yarn_placement what; /* the placement; what.node is NULL, since the node may no longer be listed */
};

/* Opens or creates the file in that directory: see nm_yarn_slot_log_new(). */
int nm_yarn_placement_log_new(int dir_fd, struct nm_yarn_slot_log **ret);
/* Adds an entry. Without memory, the entry is lost. */
void nm_yarn_placement_log_add(struct nm_yarn_slot_log *l, const struct nm_yarn_container_id *container,
                               const struct nm_yarn_container_id *master, const struct nm_yarn_placement *what);
/* Returns the newest entry of a container, which is found by the text of its id. The result is valid until the next
 * entry is added. NULL: the log has no entry of this container. */
const struct nm_yarn_logged_placement *nm_yarn_placement_log_find(const struct nm_yarn_slot_log *l,
                                                                  const char *container);
