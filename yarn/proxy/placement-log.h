/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Remembers where and why the newest containers were placed, also across a restart of nmd. Only queries use this log,
 * so the file isn't synced. An entry costs one write to its own slot, however many entries there are. A slot with a
 * wrong checksum is ignored. Without a file, entries are kept in memory only.
 */

#include <stdint.h>

#include "yarn/allocator/allocator.h"
#include "yarn/ids.h"

#define NM_YARN_PLACEMENTS_MAX 1024u

struct nm_yarn_logged_placement {
    struct nm_yarn_container_id container, master; /* master: the container of the attempt's application master */
    char *host, *rack;
    int32_t port;
    uint64_t realtime_usec;
    struct nm_yarn_placement what; /* the placement; what.node is NULL, since the node may be gone */
};

struct nm_yarn_placement_log;

/* Opens or makes the file in that directory, and reads the entries of an earlier nmd. Returns 0 or -ENOMEM. */
int nm_yarn_placement_log_new(int dir_fd, struct nm_yarn_placement_log **ret);
/* Returns 0 if the log has a file, or the reason why the file can't be used: -errno, or -EBADMSG if a file of that name
 * has another format. */
int nm_yarn_placement_log_error(const struct nm_yarn_placement_log *p);
struct nm_yarn_placement_log *nm_yarn_placement_log_free(struct nm_yarn_placement_log *p);

/* Adds an entry, in place of the oldest if the log is full. Without memory, the entry is lost. */
void nm_yarn_placement_log_add(struct nm_yarn_placement_log *p, const struct nm_yarn_container_id *container,
                               const struct nm_yarn_container_id *master, const struct nm_yarn_placement *what);
/* Returns the newest entry of that container, found by its id as text. The entry is valid until the next entry is
 * added. NULL: the log has no entry of this container. */
const struct nm_yarn_logged_placement *nm_yarn_placement_log_find(const struct nm_yarn_placement_log *p,
                                                                  const char *container);
