/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sums the memory of a cgroup's processes from /proc, for hosts whose cgroup2 mount has no memory controller. Internal
 * to monitor/.
 */

#include <stdint.h>

#include "monitor/parse.h"
#include "util/macros.h"

struct nm_procmem;
/* Opens cgroup.procs below cgroup_fd, which it duplicates. Returns -ENOENT if the cgroup has gone. */
int nm_procmem_new(int cgroup_fd, const char *proc_root, struct nm_procmem **ret);
struct nm_procmem *nm_procmem_free(struct nm_procmem *p);
NM_DEFINE_CLEANUP(struct nm_procmem *, nm_procmem_free)
/* Sets the process that is the container's shim; 0: the container has no shim. */
void nm_procmem_set_shim(struct nm_procmem *p, pid_t shim);
/* Sums up the present processes, including those in cgroups below. All sums are 0 if there are no processes.
 * cpu_usage_usec: value of cpu.stat, read just before. Returns -ENOENT if the cgroup has gone. */
int nm_procmem_sample(struct nm_procmem *p, uint64_t now_usec, uint64_t cpu_usage_usec,
                      struct nm_proc_memory *ret);
