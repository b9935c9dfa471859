/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The journal's understudy. The directory of every container that was launched, or has to wait for
 * that, holds container.json beside the records of its shim: all that the journal's row says. It is
 * read when the journal has no such row, its file having been damaged or lost; when rows may be older
 * than what happened, and it wins over them; and for the shim of a row that doesn't name one. It is as
 * new as the last moment at which type, request or a person's pause changed; what the cgroup and the
 * shim say is newer. What ends in the queue takes its copy along. What its owner keeps with it is in
 * a file beside that.
 */

#include "agent/container.h"

#define NM_COPY_FILE "container.json"
#define NM_COPY_BLOB_FILE "owner-blob"

/* boot_id: that of now, as text. Makes the directory if it is missing. */
int nm_container_snapshot_write(const char *container_dir, const char *boot_id, const struct nm_container *c);
/* *ret_same_boot: written since the host's last boot. -ENOENT: there is none. -EBADMSG: it is not
 * to be believed. */
int nm_container_snapshot_read(const char *container_dir, const char *boot_id, bool *ret_same_boot,
                               struct nm_container **ret);
