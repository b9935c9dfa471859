/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the newest containers were placed, and why: so many of them are remembered, also over a restart of nmd. They
 * are there for who asks why; nothing else depends on them. So the file isn't synced, and a place costs one write of a
 * slot of its own, whatever else is remembered; a slot that isn't as it was written is a place that is no longer kept,
 * and without a file they are remembered for as long as nmd runs.
 */

#include <stdint.h>

#include "yarn/allocator/allocator.h"
#include "yarn/ids.h"

#define NM_YARN_PLACES 1024u

struct nm_yarn_place {
    struct nm_yarn_container_id container, master; /* the latter: of the attempt's application master */
    char *host, *rack;
    int32_t port;
    uint64_t realtime_usec;
    struct nm_yarn_placement what; /* its node is NULL: that may be gone */
};

struct nm_yarn_placement_log;

/* With those of an earlier nmd, whose file is in that directory, or is made there. 0 or -ENOMEM. */
int nm_yarn_placement_log_new(int dir_fd, struct nm_yarn_placement_log **ret);
/* Why there is no file, -errno (-EBADMSG: what has its name is none); 0: there is one. */
int nm_yarn_placement_log_error(const struct nm_yarn_placement_log *p);
struct nm_yarn_placement_log *nm_yarn_placement_log_free(struct nm_yarn_placement_log *p);

/* In the place of the oldest, when there are so many. What there is no memory for isn't remembered. */
void nm_yarn_placement_log_add(struct nm_yarn_placement_log *p, const struct nm_yarn_container_id *container,
                               const struct nm_yarn_container_id *master, const struct nm_yarn_placement *what);
/* The newest of that container, by its id's text, until the next is added. NULL: it isn't remembered. */
const struct nm_yarn_place *nm_yarn_placement_log_find(const struct nm_yarn_placement_log *p, const char *container);
