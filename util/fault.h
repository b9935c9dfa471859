/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fault injection, in builds with --enable-fault-injection only: NMD_FAULT=step[:N] kills nmd with SIGKILL when it
 * passes that step for the Nth time (default the first). The steps stand on both sides of every journal write and of
 * every action that the write announces; recovery must cope with a death at each of them. Shims have steps, too, and
 * are given the variable for them. HACKING lists the steps.
 */

#include "config.h"

#ifdef NM_FAULT_INJECTION
void nm_fault_point(const char *step);
char *nm_fault_variable(void); /* the setting as it stands in an environment, NULL if there is none */
#define NM_FAULT(step) nm_fault_point(step)
#define NM_FAULT_VARIABLE nm_fault_variable()
#else
#define NM_FAULT(step) ((void)0)
#define NM_FAULT_VARIABLE NULL
#endif
