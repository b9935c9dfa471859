/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Saves the last output of a container that is killed. The shim is in the same cgroup and is killed with it, perhaps
 * before it has copied the newest output from the pipes to the log. The pipes exist as long as one end of them is open.
 * So nmd opens them before the kill, and writes their remaining content to the log once the shim has gone. It holds
 * them only for that time: two descriptors for each container that is being killed, and no descriptors for running
 * containers.
 */

#include <sys/types.h>

#include "agent/launch/output.h"

struct nm_output_drain {
    char *log_dir; /* owned; NULL: no pipes are held */
    int fd[NM_OUTPUT_N_STREAMS];
};

#define NM_OUTPUT_DRAIN_NONE ((struct nm_output_drain){.fd = {-EBADF, -EBADF}})

/* Opens the pipes of the shim `pid`. The caller then checks that the pid still belongs to that shim, and drops the
 * pipes if not. A second call has no effect. */
void nm_output_drain_hold(struct nm_output_drain *w, pid_t pid, const char *log_dir);
/* Writes the rest of the pipes' content to the log once the shim has gone, and drops the pipes. max_bytes: the log's
 * limit for each stream. */
void nm_output_drain_write(struct nm_output_drain *w, uint64_t max_bytes);
void nm_output_drain_drop(struct nm_output_drain *w);
