/* SPDX-License-Identifier: Apache-2.0 */

/* See fault.h. SIGKILL to ourselves: no destructor, no atexit, no flush runs, just as in a real crash. */

#include "util/fault.h"

#include <signal.h>

#include "util/macros.h"

#ifdef NM_FAULT_INJECTION
void nm_fault_point(const char *step)
{
    static unsigned passed;
    const char *wanted = getenv("NMD_FAULT");
    size_t n = strlen(step);
    unsigned nth = 1;

    if (!wanted || strncmp(wanted, step, n) != 0 || (wanted[n] != '\0' && wanted[n] != ':'))
        return;
    if (wanted[n] == ':')
        nth = (unsigned)strtoul(wanted + n + 1, NULL, 10);
    if (++passed < nth)
        return;
    fprintf(stderr, "nmd: fault injection: dying at %s\n", step);
    (void)kill(getpid(), SIGKILL);
}
#endif
