/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Walks the processes of a cgroup and of the cgroups below it, which a privileged container may have made. A walk is
 * made in one call (procs.c), or in several turns of the event loop (procs-pass.c). The caller owns the descriptors
 * that it passes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "util/macros.h"

/* A function that a walk calls for each process id. A result other than 0 stops the walk, which then returns this
 * result. */
typedef int (*nm_procs_fn_t)(pid_t pid, void *userdata);

/* The walk is incomplete: there are more cgroups than NM_PROCS_CGROUPS_MAX, or fn stopped it. */
#define NM_PROCS_CUT 1
#define NM_PROCS_CGROUPS_MAX 1024u

/* Walks dir_fd's cgroup.procs, then the cgroup.procs of each subdirectory. The list is a snapshot: a process may have
 * exited when fn receives its id. The container determines the number of processes, so an fn that does more than count
 * must limit its own work. Returns 0, NM_PROCS_CUT, -ENOENT if the cgroup itself no longer exists, or fn's error. */
int nm_procs_walk(int dir_fd, nm_procs_fn_t fn, void *userdata);

/* Opens cgroup.procs of the nth cgroup in the order of nm_procs_walk(); 0 is dir_fd's own file. Returns the descriptor,
 * or -ENOENT if there are not as many cgroups. */
int nm_procs_open_nth(int dir_fd, unsigned nth);

/* Returns whether the process is in the cgroup of this name (a scope's name, unique on the node) or below it. */
bool nm_procs_is_member(pid_t pid, const char *name);

/* Removes the empty directories below dir_fd, deepest first. Returns 0, or -EBUSY if a directory is not empty or there
 * were too many directories to remove all of them. */
int nm_procs_prune(int dir_fd);

/* ---- procs-pass.c ----------------------------------------------------------------------------
 *
 * Visits the processes of a cgroup in several turns of the event loop: a container may have any number of processes,
 * and each visit takes some system calls.
 */

/* Maximum number of processes per turn, and maximum size of the userdata. */
#define NM_PROCS_PASS_PER_TURN 64u
#define NM_PROCS_PASS_DATA_MAX 64u

struct nm_procs_pass;

/* Ends the pass in *p, if there is one, begins a new pass, and visits the first processes. Later turns visit the other
 * processes, and make the further rounds. Processes that have ended by then are skipped. fn gets a copy of the
 * userdata. An error of fn does not end the pass. Returns 0, the first error of this turn, or -ENOENT if the cgroup no
 * longer exists. */
int nm_procs_pass_begin(struct nm_procs_pass **p, sd_event *event, int dir_fd, unsigned rounds, nm_procs_fn_t fn,
                        const void *userdata, size_t size);
bool nm_procs_pass_is_on(const struct nm_procs_pass *p);
/* Sets a function to be called when the pass ends in a later turn. r: 0, or the first error of the pass. The function
 * may begin the next pass. */
void nm_procs_pass_set_ended(struct nm_procs_pass *p, void (*ended)(int r, void *userdata), void *userdata);
struct nm_procs_pass *nm_procs_pass_free(struct nm_procs_pass *p);
NM_DEFINE_CLEANUP(struct nm_procs_pass *, nm_procs_pass_free)
