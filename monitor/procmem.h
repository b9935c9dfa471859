/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory of a cgroup's processes from /proc, for hosts whose cgroup2 mount has no memory
 * controller. Internal to monitor/.
 */

#include <stdint.h>

#include "monitor/parse.h"
#include "util/macros.h"

struct nm_procmem;
/* Opens cgroup.procs below cgroup_fd, of which it keeps a duplicate. -ENOENT: the cgroup has
 * gone. */
int nm_procmem_new(int cgroup_fd, const char *proc_root, struct nm_procmem **ret);
struct nm_procmem *nm_procmem_free(struct nm_procmem *p);
NM_DEFINE_CLEANUP(struct nm_procmem *, nm_procmem_free)
/* A process that is known to be the container's shim; 0: none. */
void nm_procmem_set_shim(struct nm_procmem *p, pid_t shim);
/* Sums up the processes that are there now, below it too; all zero if there are none.
 * cpu_usage_usec: what cpu.stat said just before. -ENOENT: the cgroup has gone. */
int nm_procmem_sample(struct nm_procmem *p, uint64_t now_usec, uint64_t cpu_usage_usec,
                      struct nm_proc_memory *ret);
