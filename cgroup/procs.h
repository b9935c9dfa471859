/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The processes of a cgroup and of the cgroups below it (a privileged container may have made
 * some).
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Called per process id; what isn't 0 stops the walk and is returned by it. */
typedef int (*nm_procs_fn_t)(pid_t pid, void *userdata);

/* Not all were visited: there are more cgroups than NM_PROCS_CGROUPS_MAX, or fn had enough. */
#define NM_PROCS_CUT 1
#define NM_PROCS_CGROUPS_MAX 1024u

/* Walks dir_fd's cgroup.procs, then those of its subdirectories. The list is a snapshot: a process
 * may have gone when fn sees its id. How many there are is up to whose container it is: who does more
 * with each than count it has to say when it is enough. Returns 0, NM_PROCS_CUT, -ENOENT when the cgroup
 * itself has gone, or fn's failure. */
int nm_procs_walk(int dir_fd, nm_procs_fn_t fn, void *userdata);

/* Is the process in the cgroup of this name (a scope's, unique on the node) or below it? */
bool nm_procs_is_member(pid_t pid, const char *name);

/* Removes the empty directories below dir_fd, deepest first. 0, or -EBUSY when one isn't empty, or there are so many
 * that some are left. */
int nm_procs_prune(int dir_fd);
