/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdarg.h>

#include "agent/caller.h"
#include "util/error.h"

/*
 * Fills in a refusal and returns its outcome, so that a check reads `return nm_problem_set(...)`. The value is
 * shortened, and control characters, which a terminal would interpret, are replaced by '?'.
 */
int nm_problem_set(struct nm_problem *p, enum nm_agent_outcome outcome, const char *thing,
                   const char *value, const char *format, ...) nm_printf(5, 6);
int nm_problem_vset(struct nm_problem *p, enum nm_agent_outcome outcome, const char *thing,
                    const char *value, const char *format, va_list ap) nm_printf(5, 0);
