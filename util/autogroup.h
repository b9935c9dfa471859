/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The nice value of a session. With CONFIG_SCHED_AUTOGROUP (sched(7)), the kernel makes a group of processes for each
 * session. The nice values of the groups, in /proc/PID/autogroup, determine the shares of CPU. The nice value and the
 * scheduling class of a process count only within its group.
 */

#include <sys/types.h>

/* The process is still in the group of the caller: it was just forked, and has not called setsid() yet. */
#define NM_AUTOGROUP_E_OWN 1

/* Sets the nice value of the calling process's session. Returns 0 or -errno; -ENOENT: the kernel has no such groups. */
int nm_autogroup_set_own_nice(int nice);
/* Sets the nice value of another process's session, unless it is the caller's. Returns 0, NM_AUTOGROUP_E_OWN or
 * -errno. */
int nm_autogroup_set_nice(pid_t pid, int nice);
