/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts struct nm_cgroup_limits to the kernel's files, in the order in which they must be written. Pure functions.
 */

#include "cgroup/cgroup.h"

#define NM_LIMITS_MAX_FILES 9

struct nm_limits_file {
    const char *controller; /* "memory", "cpu", "pids" */
    const char *file;
    char text[48];
};

/* Fills out[] and returns the number of its entries. has_idle: the kernel has cpu.idle. */
size_t nm_limits_files(const struct nm_cgroup_limits *l, bool has_idle,
                       struct nm_limits_file out[NM_LIMITS_MAX_FILES]);

/* Returns "io.weight" or, if that is missing, "io.bfq.weight". Returns NULL if the cgroup has neither. */
const char *nm_limits_io_file(int dir_fd);

/* Rounds a rate up to a whole percent of a CPU: at daemon-reload systemd loses fractions of a percent (it writes
 * "CPUQuota=0%", which it cannot read back). NM_CGROUP_NONE stays as it is. */
uint64_t nm_limits_cpu_quota(uint64_t millicores);

/* Returns the requested weight, limited to 1 .. 10000. */
uint32_t nm_limits_cpu_weight(const struct nm_cgroup_limits *l);
