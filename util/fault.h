/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fault injection, in builds with --enable-fault-injection only: NMD_FAULT=step[:N] kills nmd with SIGKILL when it
 * passes that step for the Nth time (default the first). The steps stand on both sides of every journal write and of
 * every action that the write announces; recovery must cope with a death at each of them. Shims have steps, too, and
 * are given the variable for them. docs/TESTING.md lists the steps.
 */

#include <stdint.h>

#include "config.h"

#ifdef NM_FAULT_INJECTION
void nm_fault_point(const char *step);
char *nm_fault_variable(void); /* the setting as it stands in an environment, NULL if there is none */
#define NM_FAULT(step) nm_fault_point(step)
#define NM_FAULT_VARIABLE nm_fault_variable()
/* How long the host is to have slept, beside what it really has: the number in the file that NMD_ASLEEP names. An nmd
 * that is stopped (SIGSTOP) while that number grows sees what it would see of a host that was suspended. */
uint64_t nm_fault_asleep_usec(void);
#define NM_FAULT_ASLEEP_USEC nm_fault_asleep_usec()
#else
#define NM_FAULT(step) ((void)0)
#define NM_FAULT_VARIABLE NULL
#define NM_FAULT_ASLEEP_USEC 0
#endif
