/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fault injection, in builds with --enable-fault-injection only. NMD_FAULT=step[:N] kills nmd with SIGKILL when it
 * passes that step for the Nth time (default: the first). There is a step before and after every journal write and
 * every action that the write announces. Recovery must work after a death at each of these steps. nmd passes the
 * variable on to nm-shim, which has steps too. docs/TESTING.md lists the steps.
 */

#include <stdint.h>

#include "config.h"

#ifdef NM_FAULT_INJECTION
void nm_fault_point(const char *step);
char *nm_fault_variable(void); /* "NMD_FAULT=..." for an environment; NULL: the variable is not set */
#define NM_FAULT(step) nm_fault_point(step)
#define NM_FAULT_VARIABLE nm_fault_variable()
/* Returns the simulated suspend time of the host, in addition to its real suspend time. The value is read from the file
 * that NMD_ASLEEP names. If the value grows while nmd is stopped (SIGSTOP), nmd behaves as after a suspend. */
uint64_t nm_fault_asleep_usec(void);
#define NM_FAULT_ASLEEP_USEC nm_fault_asleep_usec()
/* Returns the simulated step of the clock, by which nm_realtime_usec() differs from CLOCK_REALTIME. The value is read
 * from the file that NMD_STEPPED names. It may be negative. */
int64_t nm_fault_stepped_usec(void);
#define NM_FAULT_STEPPED_USEC nm_fault_stepped_usec()
#else
#define NM_FAULT(step) ((void)0)
#define NM_FAULT_VARIABLE NULL
#define NM_FAULT_ASLEEP_USEC 0
#define NM_FAULT_STEPPED_USEC 0
#endif
