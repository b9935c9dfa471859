/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of procmem.c: a container's processes with their newest figures (proctable.c), and how much of their memory
 * is counted more than once (sharing.c). Only these files include this header.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "monitor/pagewalk.h"
#include "monitor/parse.h"

/* ---- proctable.c -----------------------------------------------------------------------------
 *
 * The newest figures of each process of a cgroup, in the order of their ids. These figures are kept because a container
 * may have more processes than one turn of the event loop can read.
 */

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
    struct nm_proc_figures *all; /* NULL: `own` is used */
    struct nm_proc_figures own[NM_PROCTABLE_OWN];
    unsigned n, size;
    unsigned n_beyond; /* number of listed processes for whose figures no memory could be allocated */
};

void nm_proctable_done(struct nm_proctable *t);
struct nm_proc_figures *nm_proctable_get(struct nm_proctable *t);
/* Replaces the list of processes, and sorts pids[]. Processes that were listed before keep their figures. */
void nm_proctable_update(struct nm_proctable *t, pid_t *pids, unsigned n);
/* Returns the index of the first process whose id is greater. */
unsigned nm_proctable_after(const struct nm_proctable *t, pid_t pid);

/* ---- sharing.c -------------------------------------------------------------------------------
 *
 * Estimates how much of the resident memory of a container's processes is counted more than once: copy-on-write pages
 * of forked workers and shared memory are resident in each of them.
 */

/* The walk started last, and the result of the newest complete walk: of finished_bytes, which finished_n processes had,
 * overcount_bytes are counted more than once. */
struct nm_sharing {
    struct nm_pagewalk walk;
    bool walked, overcount_known;
    uint64_t walked_usec;
    uint64_t resident_bytes, large_bytes; /* at the start of the walk: bytes of all processes, and of the large
                                             processes */
    unsigned walked_n;                    /* number of processes at the start of the walk */
    uint64_t finished_bytes, overcount_bytes;
    unsigned finished_n;
};

/* The current processes, of which sum_bytes are resident. */
struct nm_sharing_input {
    const char *proc_root;
    const struct nm_proc_figures *all;
    unsigned n;
    uint64_t now_usec, sum_bytes;
};

void nm_sharing_init(struct nm_sharing *s);
void nm_sharing_done(struct nm_sharing *s); /* ends a running walk */
bool nm_sharing_is_walking(const struct nm_sharing *s);
/* Returns the bytes of sum_bytes that are counted more than once. */
uint64_t nm_sharing_overcount(struct nm_sharing *s, const struct nm_sharing_input *in);
