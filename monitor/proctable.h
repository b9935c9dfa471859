/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The newest figures of each process of a cgroup, in the order of their ids. They are kept because a container may have
 * more processes than one turn of the event loop can read. Internal to monitor/.
 */

#include <sys/types.h>

#include "monitor/parse.h"

/* Length of a list that needs no allocation. Most containers have fewer processes. */
#define NM_PROCTABLE_OWN 8u

enum nm_proc_known {
    NM_PROC_UNREAD, /* in the list since the last sample, and not read yet */
    NM_PROC_READ,
    NM_PROC_FAILED, /* the last reading failed, so its memory is unknown */
};

struct nm_proc_figures {
    pid_t pid;
    enum nm_proc_known known;
    struct nm_proc_memory memory; /* zero unless it was read */
};

struct nm_proctable {
    struct nm_proc_figures *all; /* NULL: own */
    struct nm_proc_figures own[NM_PROCTABLE_OWN];
    unsigned n, size;
    unsigned n_beyond; /* listed processes for which there was no memory */
};

void nm_proctable_done(struct nm_proctable *t);
struct nm_proc_figures *nm_proctable_get(struct nm_proctable *t);
/* Replaces the list of processes, and sorts pids[]. Processes that were listed before keep their figures. */
void nm_proctable_update(struct nm_proctable *t, pid_t *pids, unsigned n);
/* Returns the index of the first process whose id is greater. */
unsigned nm_proctable_after(const struct nm_proctable *t, pid_t pid);
