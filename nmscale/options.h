/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nmscale's command line, and the run that the command line requests. */

#include "nmscale/choose.h"
#include "nmscale/rm.h"

/* Exit statuses. The manual documents them. */
enum nm_scale_exit {
    NM_SCALE_OK = 0,
    NM_SCALE_FAILED = 1,
    NM_SCALE_USAGE = 2,
    NM_SCALE_NO_RM = 3,       /* no ResourceManager answers, or the answer isn't valid */
    NM_SCALE_DEMAND_BACK = 4, /* nodes were put back because demand returned */
    NM_SCALE_PUT_BACK = 5,    /* nodes were put back after a timeout or the loss of the ResourceManager */
    NM_SCALE_BUSY = 6,        /* another nmscale is running */
    NM_SCALE_INTERRUPTED = 130,
};

#define NM_SCALE_HOSTS_MAX 1000

struct nm_scale_options {
    const char *rms[NM_SCALE_RMS_MAX];
    size_t n_rms;
    struct nm_scale_rules rules;
    uint64_t max_gap_usec, interval_usec, timeout_usec, force_after_usec, poll_usec, http_timeout_usec;
    const char *state, *exclude_file, *rmadmin;
    const char *readmit[NM_SCALE_HOSTS_MAX];
    size_t n_readmit;
    bool all, json, watch, apply, ask_nodes;
};

#define NM_SCALE_NEVER UINT64_MAX /* value of force_after_usec: no decommissioning by force */

/* Returns 0 to continue, 1 after the help or the version was printed, or -EINVAL after an error message. */
int nm_scale_parse_argv(int argc, char **argv, struct nm_scale_options *ret);

/* ---- poll-loop.c ----------------------------------------------------------------------------- */

/*
 * A run. It takes the locks and reads the memory. Then, once or repeatedly, it polls, updates the memory, chooses
 * nodes, prints the result, and with --apply gives nodes back. The memory is saved after each poll, so that a killed
 * run loses no results.
 */
enum nm_scale_exit nm_scale_run(const struct nm_scale_options *o);
