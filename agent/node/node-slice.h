/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"
#include "agent/node/slice-note.h"

/* The state of node-slice.c. Only node-slice.c and its test use it. */
struct nm_slice {
    struct nm_cgroup_limits limits; /* the limits that were set last */
    struct nm_slice_note note;
    uint64_t claimed_bytes;
    bool is_busy, again; /* a call to set limits is running; another must follow */
    bool limit_due;      /* memory in use exceeds the reduced capacity, so memory.max is not lowered yet */
};

struct nm_slice *nm_slice_new(void); /* NULL: out of memory */
struct nm_slice *nm_slice_free(struct nm_slice *s);

/* Loads the requests of an earlier nmd and the node's limits of tasks. Call this function before the other functions of
 * this file. */
void nm_slice_begin(struct nm_manager *m);
/* Sets all limits of the slice. Called at the start, once the containers of an earlier nmd are known, and after a
 * change of the capacity. */
void nm_slice_set(struct nm_manager *m);
/* Sets all limits after the capacity has changed. memory.max stays while more than the new capacity is in use, since
 * the kernel would kill at once; nm_slice_lower(), which is called after each sample, lowers memory.max as soon as less
 * is in use. */
void nm_slice_set_capacity(struct nm_manager *m);
void nm_slice_lower(struct nm_manager *m);
/* Updates the slice's limits after a guaranteed container has come, ended, grown, shrunk or changed its type. The call
 * is cheap without such a change. */
void nm_slice_follow(struct nm_manager *m);
void nm_slice_check_drift(struct nm_manager *m);
