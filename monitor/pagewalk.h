/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds out how much memory processes share, in a process of its own. Internal to monitor/.
 */

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/macros.h"

struct nm_pagewalk {
    pid_t pid; /* 0: none is running */
    int fd;    /* its answer comes from here */
};

#define NM_PAGEWALK_NULL ((struct nm_pagewalk){.fd = -EBADF})

/* Of resident_bytes, summed over processes, only unique_bytes are there. */
struct nm_pagewalk_result {
    uint64_t resident_bytes, unique_bytes;
};

/* Starts a walk over the n processes of which bytes[i] are resident, up to max_bytes of them. */
int nm_pagewalk_start(struct nm_pagewalk *w, const char *proc_root, const pid_t *pids,
                      const uint64_t *bytes, unsigned n, uint64_t max_bytes);
/* Waits at most so long. 0: done; -EAGAIN: it goes on; else it has failed. */
int nm_pagewalk_collect(struct nm_pagewalk *w, int timeout_msec, struct nm_pagewalk_result *ret);
/* Ends it if it is running. */
void nm_pagewalk_done(struct nm_pagewalk *w);
