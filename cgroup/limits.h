/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * struct nm_cgroup_limits as the kernel's files, in the order in which they must be written. Pure.
 */

#include "cgroup/cgroup.h"

#define NM_LIMITS_MAX_FILES 9

struct nm_limits_file {
    const char *controller; /* "memory", "cpu", "pids" */
    const char *file;
    char text[48];
};

/* Fills out[] and returns how many there are. has_idle: the kernel has cpu.idle. */
size_t nm_limits_files(const struct nm_cgroup_limits *l, bool has_idle,
                       struct nm_limits_file out[NM_LIMITS_MAX_FILES]);

/* io.weight or, where that is missing, io.bfq.weight: NULL if the cgroup has neither. */
const char *nm_limits_io_file(int dir_fd);

/* The rate that can be set: rounded up to a whole percent of a CPU, as systemd forgets fractions of
 * one at daemon-reload ("CPUQuota=0%", which it then can't read). NM_CGROUP_NONE stays. */
uint64_t nm_limits_cpu_quota(uint64_t millicores);

/* 1 .. 10000, whatever was asked for. */
uint32_t nm_limits_cpu_weight(const struct nm_cgroup_limits *l);
