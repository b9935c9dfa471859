/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nmscale's command line. */

#include "nmscale/choose.h"
#include "nmscale/rm.h"

/* The exit statuses; the manual has them, too. */
enum nm_scale_exit {
    NM_SCALE_OK = 0,
    NM_SCALE_FAILED = 1,
    NM_SCALE_USAGE = 2,
    NM_SCALE_NO_RM = 3,       /* no ResourceManager answers, or not as it should */
    NM_SCALE_DEMAND_BACK = 4, /* put back: demand came back */
    NM_SCALE_PUT_BACK = 5,    /* put back: it took too long, or the ResourceManager went away */
    NM_SCALE_BUSY = 6,        /* another nmscale is at work */
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

#define NM_SCALE_NEVER UINT64_MAX /* force_after_usec */

/* 0; 1 when all is said and done (--help, --version); -EINVAL after an error message. */
int nm_scale_parse_argv(int argc, char **argv, struct nm_scale_options *ret);
