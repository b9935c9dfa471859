/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Estimates how much of the resident memory of a container's processes is counted more than once: copy-on-write pages
 * of forked workers and shared memory are resident in each of them. Internal to monitor/.
 */

#include <stdbool.h>
#include <stdint.h>

#include "monitor/pagewalk.h"
#include "monitor/proctable.h"

/* The walk started last, and the result of the newest complete walk: of finished_bytes, which finished_n processes had,
 * overcount_bytes are counted more than once. */
struct nm_sharing {
    struct nm_pagewalk walk;
    bool walked, overcount_known;
    uint64_t walked_usec;
    uint64_t resident_bytes, large_bytes; /* at the start of the walk: of all processes, and of the large ones */
    unsigned walked_n;                    /* number of processes at the start of the walk */
    uint64_t finished_bytes, overcount_bytes;
    unsigned finished_n;
};

/* The present processes, of which sum_bytes are resident. */
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
