/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * struct nm_cgroup_limits as the kernel's files, in the order in which they must be written. Pure.
 */

#include "cgroup/cgroup.h"

#define NM_LIMITS_MAX_FILES 8

struct nm_limits_file {
    const char *controller; /* "memory", "cpu", "pids" */
    const char *file;
    char text[48];
};

/* Fills out[] and returns how many there are. has_idle: the kernel has cpu.idle. */
size_t nm_limits_files(const struct nm_cgroup_limits *l, bool has_idle,
                       struct nm_limits_file out[NM_LIMITS_MAX_FILES]);

/* The quota of cpu.max for a rate, and its period. NM_CGROUP_NONE as quota: "max". */
void nm_limits_cpu_max(uint64_t millicores, uint64_t *ret_quota_usec, uint64_t *ret_period_usec);

/* 1 .. 10000, whatever was asked for. */
uint32_t nm_limits_cpu_weight(const struct nm_cgroup_limits *l);
