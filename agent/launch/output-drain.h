/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The last words of a container that is killed. Its shim is in the same cgroup and killed with it, perhaps before it
 * has passed on what was written last; the pipes live as long as one end of them is open. So nmd takes hold of them
 * before it kills, and when the shim is gone writes what they still hold to the log. It holds them for that time only:
 * two descriptors for each container that is being killed, none for those that run.
 */

#include <sys/types.h>

#include "agent/launch/output.h"

struct nm_output_drain {
    char *log_dir; /* owned; NULL: nothing is held */
    int fd[NM_OUTPUT_N_STREAMS];
};

#define NM_LAST_WORDS_NONE ((struct nm_output_drain){.fd = {-EBADF, -EBADF}})

/* Takes hold of the pipes of the shim `pid`; the caller then looks whether the pid still is that shim's, and drops them
 * if not. A second time does nothing. */
void nm_output_drain_hold(struct nm_output_drain *w, pid_t pid, const char *log_dir);
/* Once the shim is gone: what is left in the pipes goes to the log, whose limit a stream is max_bytes. Drops them. */
void nm_output_drain_write(struct nm_output_drain *w, uint64_t max_bytes);
void nm_output_drain_drop(struct nm_output_drain *w);
