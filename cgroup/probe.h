/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Detects the features of kernel, mount and backend in the slice: fills feature[] and missing[].
 */

#include "cgroup/cgroup.h"

struct nm_probe_params {
    int root_fd;           /* the cgroup2 mount */
    const char *swaps;     /* "/proc/swaps" */
    bool check_delegation; /* controllers must already be enabled for the slice's children */
    bool has_idle_property; /* false: systemd is older than 252 and cannot set CPUWeight=idle */
};

/* Fills feature[] and missing[]. Requires b->slice_fd. */
void nm_probe_features(struct nm_cgroup_backend *b, const struct nm_probe_params *p);
