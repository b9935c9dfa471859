/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Typed builders for systemd's (sv) property lists: sd-bus checks no varargs, so each type is passed in one place.
 */

#include <stdbool.h>
#include <sys/types.h>

#include <systemd/sd-bus.h>

#include "cgroup/cgroup.h"

int nm_sdprops_string(sd_bus_message *m, const char *name, const char *value);
int nm_sdprops_u64(sd_bus_message *m, const char *name, uint64_t value);
int nm_sdprops_bool(sd_bus_message *m, const char *name, bool value);
int nm_sdprops_pid(sd_bus_message *m, pid_t pid); /* PIDs=, the one way into a scope */

/* All limits, and the accounting without which systemd wouldn't enable the controllers. */
int nm_sdprops_limits(sd_bus_message *m, const struct nm_cgroup_limits *l, unsigned systemd_version);
/* Just what makes systemd enable the memory, cpu and pids controllers for a unit. */
int nm_sdprops_controllers(sd_bus_message *m);
