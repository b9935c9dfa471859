/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Measures in a child process how much memory processes share. Internal to monitor/.
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

/* The walked processes together have resident_bytes, but only unique_bytes of distinct memory. Processes that have
 * ended before their turn are in neither sum. */
struct nm_pagewalk_sum {
    uint64_t resident_bytes, unique_bytes;
};

/* Large processes are summed up separately, because their sharing says little about the sharing of the other processes,
 * and vice versa. */
struct nm_pagewalk_result {
    struct nm_pagewalk_sum large, others;
};

/* Starts a walk over the n processes, of which bytes[i] are resident. The first n_large processes are the large ones.
 * In each of the two groups, at most max_bytes are walked. */
int nm_pagewalk_start(struct nm_pagewalk *w, const char *proc_root, const pid_t *pids, const uint64_t *bytes,
                      unsigned n, unsigned n_large, uint64_t max_bytes);
/* Waits at most timeout_msec for the walk. Returns 0 if the walk is done, -EAGAIN if it is still running, else its
 * error. */
int nm_pagewalk_collect(struct nm_pagewalk *w, int timeout_msec, struct nm_pagewalk_result *ret);
/* Reaps ended walks. Without a call an ended walk may stay a zombie until the next walk ends. */
void nm_pagewalk_reap(void);
/* Ends a running walk. */
void nm_pagewalk_done(struct nm_pagewalk *w);
