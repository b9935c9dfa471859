/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the kernel, the mount and the backend offer in the slice: fills feature[] and missing[].
 */

#include "cgroup/cgroup.h"

struct nm_probe_params {
    int root_fd;           /* the cgroup2 mount */
    const char *swaps;     /* "/proc/swaps" */
    bool check_delegation; /* controllers must also be enabled for the slice's children by now */
    bool has_idle_property; /* false: a systemd before 252, which can't set CPUWeight=idle */
};

/* Needs b->slice_fd. */
void nm_probe_features(struct nm_cgroup_backend *b, const struct nm_probe_params *p);
