/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Builds the messages for the calls to the service manager. sd-bus does not check varargs, so each property type is
 * appended in one place only. Each function returns 0 or -errno; the caller owns the message.
 */

#include <sys/types.h>

#include <systemd/sd-bus.h>

#include "cgroup/cgroup.h"

/* The properties that this version of systemd understands. */
struct nm_sdcall_properties {
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
                          const struct nm_sdcall_properties *properties, sd_bus_message **ret);
int nm_sdcall_start_slice(sd_bus *bus, const char *slice, sd_bus_message **ret);
int nm_sdcall_start_unit(sd_bus *bus, const char *unit, sd_bus_message **ret);
int nm_sdcall_stop_unit(sd_bus *bus, const char *unit, sd_bus_message **ret);
int nm_sdcall_reset_failed(sd_bus *bus, const char *unit, sd_bus_message **ret);
/* Sets limits. With limits NULL the call only makes systemd enable the memory, cpu and pids controllers for the
 * unit. */
int nm_sdcall_set_limits(sd_bus *bus, const char *unit, const struct nm_cgroup_limits *limits,
                         const struct nm_sdcall_properties *properties, sd_bus_message **ret);
/* Builds a call that systemd answers only after the work that earlier calls have deferred. */
int nm_sdcall_ping(sd_bus *bus, sd_bus_message **ret);
