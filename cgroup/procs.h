/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The processes of a cgroup and of the cgroups below it (a privileged container may have made
 * some).
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Called per process id; a negative result stops the walk and is returned by it. */
typedef int (*nm_procs_fn_t)(pid_t pid, void *userdata);

/* Walks dir_fd's cgroup.procs, then those of its subdirectories. The list is a snapshot: a process
 * may have gone when fn sees its id. Returns 0, -ENOENT when the cgroup itself has gone, or fn's
 * failure. */
int nm_procs_walk(int dir_fd, nm_procs_fn_t fn, void *userdata);

/* Is the process in the cgroup of this name (a scope's, unique on the node) or below it? */
bool nm_procs_is_member(pid_t pid, const char *name);

/* Removes the empty directories below dir_fd, deepest first. 0, or -EBUSY when one isn't empty, or there are so many
 * that some are left. */
int nm_procs_prune(int dir_fd);
