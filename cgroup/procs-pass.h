/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Visits the processes of a cgroup in several turns of the event loop: a container may have any number of them, and
 * each visit takes some system calls.
 */

#include <stddef.h>
#include <systemd/sd-event.h>

#include "cgroup/procs.h"
#include "util/macros.h"

/* Processes per turn, and the largest userdata. */
#define NM_PROCS_PASS_PER_TURN 64u
#define NM_PROCS_PASS_DATA_MAX 64u

struct nm_procs_pass;

/* Begins a pass, which replaces a pass in *p, and visits the first processes. The others, and those of further rounds,
 * follow in later turns, without those that have ended meanwhile. fn gets a copy of the userdata. Its errors do
 * not end the pass. Returns 0, the first error of this turn, or -ENOENT if the cgroup has gone. */
int nm_procs_pass_begin(struct nm_procs_pass **p, sd_event *event, int dir_fd, unsigned rounds, nm_procs_fn_t fn,
                        const void *userdata, size_t size);
bool nm_procs_pass_is_on(const struct nm_procs_pass *p);
/* Sets a function to be called when the pass ends in a later turn. r: 0, or the first error of the pass. The function
 * may begin the next pass. */
void nm_procs_pass_set_ended(struct nm_procs_pass *p, void (*ended)(int r, void *userdata), void *userdata);
struct nm_procs_pass *nm_procs_pass_free(struct nm_procs_pass *p);
NM_DEFINE_CLEANUP(struct nm_procs_pass *, nm_procs_pass_free)
