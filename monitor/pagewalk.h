/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Measures how much memory processes share, in a process of its own. Internal to monitor/.
 */

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/macros.h"

struct nm_pagewalk {
    pid_t pid; /* 0: no walk is running */
    int fd;    /* read end for the result */
};

#define NM_PAGEWALK_NULL ((struct nm_pagewalk){.fd = -EBADF})

/* The walked processes together have resident_bytes, but only unique_bytes of distinct memory. */
struct nm_pagewalk_result {
    uint64_t resident_bytes, unique_bytes;
};

/* Starts a walk over the n processes, of which bytes[i] are resident, up to max_bytes in total. */
int nm_pagewalk_start(struct nm_pagewalk *w, const char *proc_root, const pid_t *pids,
                      const uint64_t *bytes, unsigned n, uint64_t max_bytes);
/* Waits at most timeout_msec for the walk. Returns 0 if the walk is done, -EAGAIN if it is still running, else its
 * error. */
int nm_pagewalk_collect(struct nm_pagewalk *w, int timeout_msec, struct nm_pagewalk_result *ret);
/* Ends a running walk. */
void nm_pagewalk_done(struct nm_pagewalk *w);
