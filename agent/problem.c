/* SPDX-License-Identifier: Apache-2.0 */

/* Refusals. The values come from untrusted clients and are shown on terminals and in logs. nm_problem_set() sanitizes
 * the values for all of its callers. */

#include "agent/problem.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>

static void make_harmless(char *s)
{
    for (; *s; s++)
        if (iscntrl((unsigned char)*s))
            *s = '?';
}

int nm_problem_vset(struct nm_problem *p, enum nm_agent_outcome outcome, const char *thing,
                    const char *value, const char *format, va_list ap)
{
    assert(p && thing && value);
    assert(outcome > 0);
    *p = (struct nm_problem){.outcome = outcome};
    (void)snprintf(p->thing, sizeof p->thing, "%s", thing);
    (void)snprintf(p->value, sizeof p->value, "%s", value);
    if (strlen(value) >= sizeof p->value)
        memcpy(p->value + sizeof p->value - 4, "...", 4);
    (void)vsnprintf(p->message, sizeof p->message, format, ap);
    make_harmless(p->thing);
    make_harmless(p->value);
    make_harmless(p->message);
    return (int)outcome;
}

int nm_problem_set(struct nm_problem *p, enum nm_agent_outcome outcome, const char *thing,
                   const char *value, const char *format, ...)
{
    va_list ap;
    int r;

    va_start(ap, format);
    r = nm_problem_vset(p, outcome, thing, value, format, ap);
    va_end(ap);
    return r;
}
