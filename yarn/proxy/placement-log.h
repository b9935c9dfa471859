/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stores where and why the newest containers were placed. The entries survive a restart of nmd (slot-file.h). If the
 * file can't be used, entries are kept in memory only.
 */

#include <stdint.h>

#include "yarn/allocator/allocator.h"
#include "yarn/ids.h"

#define NM_YARN_PLACEMENTS_MAX 1024u

struct nm_yarn_logged_placement {
    struct nm_yarn_container_id container, master; /* master: the container of the application master */
    char *host, *rack;
    int32_t port;
    uint64_t realtime_usec;
    struct nm_yarn_placement what; /* the placement; what.node is NULL, since the node may no longer be listed */
};

struct nm_yarn_placement_log;

/* Opens or creates the file in that directory, and reads the entries that an earlier nmd has written. Returns 0 or
 * -ENOMEM. */
int nm_yarn_placement_log_new(int dir_fd, struct nm_yarn_placement_log **ret);
/* Returns 0 if the log has a file. Otherwise returns the reason why the file can't be used: -errno, or -EBADMSG if a
 * file of that name has another format. */
int nm_yarn_placement_log_error(const struct nm_yarn_placement_log *p);
struct nm_yarn_placement_log *nm_yarn_placement_log_free(struct nm_yarn_placement_log *p);

/* Adds an entry. If the log is full, the new entry replaces the oldest entry. Without memory, the entry is lost. */
void nm_yarn_placement_log_add(struct nm_yarn_placement_log *p, const struct nm_yarn_container_id *container,
                               const struct nm_yarn_container_id *master, const struct nm_yarn_placement *what);
/* Returns the newest entry of a container, which is found by the text of its id. The result is valid until the next
 * entry is added. NULL: the log has no entry of this container. */
const struct nm_yarn_logged_placement *nm_yarn_placement_log_find(const struct nm_yarn_placement_log *p,
                                                                  const char *container);
