/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"
#include "agent/node/slice-note.h"

/* Of node-slice.c and its test. */
struct nm_slice {
    struct nm_cgroup_limits limits; /* as they were set last */
    struct nm_slice_note note;
    uint64_t claimed_bytes;
    bool is_busy, again; /* being set; and then once more */
    bool limit_due;      /* the capacity has shrunk below what is in use: memory.max waits */
};

struct nm_slice *nm_slice_new(void); /* NULL: no memory */
struct nm_slice *nm_slice_free(struct nm_slice *s);

/* Before anything else: what an earlier nmd asked for, and how many tasks the node has for all, and so for each. */
void nm_slice_begin(struct nm_manager *m);
/* All of the slice's limits: at the start, once the containers of an earlier nmd are known, and when the capacity has
 * changed. */
void nm_slice_set(struct nm_manager *m);
/* Sets all limits after the capacity has changed. memory.max stays while more than the new capacity is in use, since
 * the kernel would kill at once; nm_slice_lower(), which is called after each sample, lowers it as soon as it can. */
void nm_slice_set_capacity(struct nm_manager *m);
void nm_slice_lower(struct nm_manager *m);
/* Whenever a guaranteed container may have come, gone, grown, shrunk or changed its type. Cheap when none has. */
void nm_slice_follow(struct nm_manager *m);
void nm_slice_check_drift(struct nm_manager *m);
