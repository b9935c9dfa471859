/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The calls to the service manager as messages, built by type: sd-bus checks no varargs, so each
 * property type is passed in one place. Each returns 0 or -errno; the message is the caller's.
 */

#include <sys/types.h>

#include <systemd/sd-bus.h>

#include "cgroup/cgroup.h"

/* What this systemd understands. */
struct nm_sdcall_dialect {
    bool has_cpu_idle; /* CPUWeight=idle: since 252 */
    /* OOMPolicy= of scopes: since 253, and in 252 of some distributions */
    bool has_scope_oom_policy;
};

struct nm_sdcall_scope {
    const char *unit, *slice, *description;
    pid_t pid;
    const struct nm_cgroup_limits *limits;
};

int nm_sdcall_start_scope(sd_bus *bus, const struct nm_sdcall_scope *scope,
                          const struct nm_sdcall_dialect *dialect, sd_bus_message **ret);
int nm_sdcall_start_slice(sd_bus *bus, const char *slice, sd_bus_message **ret);
int nm_sdcall_start_unit(sd_bus *bus, const char *unit, sd_bus_message **ret);
int nm_sdcall_stop_unit(sd_bus *bus, const char *unit, sd_bus_message **ret);
int nm_sdcall_reset_failed(sd_bus *bus, const char *unit, sd_bus_message **ret);
/* limits NULL: just what makes systemd enable the memory, cpu and pids controllers for the unit. */
int nm_sdcall_set_limits(sd_bus *bus, const char *unit, const struct nm_cgroup_limits *limits,
                         const struct nm_sdcall_dialect *dialect, sd_bus_message **ret);
/* Answered after everything that the calls before it have put off. */
int nm_sdcall_ping(sd_bus *bus, sd_bus_message **ret);
