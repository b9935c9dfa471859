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
/* Opens cgroup.procs below cgroup_fd, which it duplicates. Returns -ENOENT if the cgroup no longer exists. */
int nm_procmem_new(int cgroup_fd, const char *proc_root, struct nm_procmem **ret);
struct nm_procmem *nm_procmem_free(struct nm_procmem *p);
NM_DEFINE_CLEANUP(struct nm_procmem *, nm_procmem_free)
/* Sets the process that is the container's shim; 0: the container has no shim. */
void nm_procmem_set_shim(struct nm_procmem *p, pid_t shim);
/* Maximum number of processes that one sample reads in addition to the processes with open descriptors. Reading one
 * process takes some 20 us, and several times as long while many processes end at the same time. */
#define NM_PROCMEM_READS_MAX 128u
#define NM_PROCMEM_READS_MIN 4u
/* Sets the number of such processes that one sample may read, within its limits. */
void nm_procmem_limit_reads(struct nm_procmem *p, unsigned max);
/* Sums up the current processes, including processes in cgroups below; all zero if there are no processes.
 * cpu_usage_usec: value of cpu.stat, read just before. Returns -ENOENT if the cgroup no longer exists. */
int nm_procmem_sample(struct nm_procmem *p, uint64_t now_usec, uint64_t cpu_usage_usec,
                      struct nm_proc_memory *ret);
