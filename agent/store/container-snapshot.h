/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The snapshot of a container: a copy of the container's row in the journal. The directory of every container that was
 * launched, or that waits in the queue, holds container.json beside the records of its shim, with all fields of the
 * row. The snapshot is read in three cases. First, if the journal has no such row, because the journal's file was
 * damaged or lost. Second, if rows may be older than the container's newest change; the snapshot then has precedence.
 * Third, to find the shim if the row does not name a shim. The snapshot is updated when type, request or a person's
 * pause changes; for other changes, cgroup and shim have the newer state. If a container ends in the queue, its
 * snapshot is removed with its directory. The owner's blob is in a file beside the snapshot.
 */

#include "agent/container.h"

#define NM_SNAPSHOT_FILE "container.json"
#define NM_SNAPSHOT_BLOB_FILE "owner-blob"

/* boot_id: the current boot id, as text. Makes the directory if it is missing. */
int nm_container_snapshot_write(const char *container_dir, const char *boot_id, const struct nm_container *c);
/* *ret_same_boot: the snapshot was written since the host's last boot. Returns -ENOENT if there is no snapshot,
 * -EBADMSG if the snapshot is not valid. */
int nm_container_snapshot_read(const char *container_dir, const char *boot_id, bool *ret_same_boot,
                               struct nm_container **ret);
