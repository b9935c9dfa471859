/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Walks the processes of a cgroup and of the cgroups below it (a privileged container may have made cgroups below its
 * own).
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A function that a walk calls for each process id. A result other than 0 stops the walk, which then returns this
 * result. */
typedef int (*nm_procs_fn_t)(pid_t pid, void *userdata);

/* The walk is incomplete: there are more cgroups than NM_PROCS_CGROUPS_MAX, or fn stopped it. */
#define NM_PROCS_CUT 1
#define NM_PROCS_CGROUPS_MAX 1024u

/* Walks dir_fd's cgroup.procs, then those of its subdirectories. The list is a snapshot: a process may have gone when
 * fn receives its id. The container determines the number of processes, so an fn that does more than count must limit
 * its own work. Returns 0, NM_PROCS_CUT, -ENOENT if the cgroup itself has gone, or fn's error. */
int nm_procs_walk(int dir_fd, nm_procs_fn_t fn, void *userdata);

/* Opens cgroup.procs of the nth cgroup in the order of that walk; 0 is dir_fd's own. Returns the descriptor, or -ENOENT
 * if there are not as many cgroups. */
int nm_procs_open_nth(int dir_fd, unsigned nth);

/* Returns whether the process is in the cgroup of this name (a scope's name, unique on the node) or below it. */
bool nm_procs_is_member(pid_t pid, const char *name);

/* Removes the empty directories below dir_fd, deepest first. Returns 0, or -EBUSY if a directory is not empty or there
 * were too many directories to remove all of them. */
int nm_procs_prune(int dir_fd);
