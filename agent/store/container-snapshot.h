/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A copy of the journal's row. The directory of every container that was launched, or that waits in the queue, holds
 * container.json beside the records of its shim, with all fields of the row. The copy is read in three cases: if the
 * journal has no such row, because its file was damaged or lost; if rows may be older than the container's newest
 * change, in which case the copy has precedence; and to find the shim if the row does not name a shim. The copy is
 * updated when type, request or a person's pause changes; for other changes, cgroup and shim have the newer state. If a
 * container ends in the queue, its copy is removed with its directory. The owner's blob is in a file beside the copy.
 */

#include "agent/container.h"

#define NM_COPY_FILE "container.json"
#define NM_COPY_BLOB_FILE "owner-blob"

/* boot_id: the current boot id, as text. Makes the directory if it is missing. */
int nm_container_snapshot_write(const char *container_dir, const char *boot_id, const struct nm_container *c);
/* *ret_same_boot: the copy was written since the host's last boot. Returns -ENOENT if there is no copy, -EBADMSG if the
 * copy is not valid. */
int nm_container_snapshot_read(const char *container_dir, const char *boot_id, bool *ret_same_boot,
                               struct nm_container **ret);
