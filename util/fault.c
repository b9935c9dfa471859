/* SPDX-License-Identifier: Apache-2.0 */

/* See fault.h. The process kills itself with SIGKILL, so that, as in a real crash, no destructor, atexit handler or
 * flush runs. */

#include "util/fault.h"

#include <signal.h>
#include <stdbool.h>

#include "util/macros.h"

#ifdef NM_FAULT_INJECTION
#define VARIABLE "NMD_FAULT"

char *nm_fault_variable(void)
{
    for (char **e = environ; *e; e++)
        if (strncmp(*e, VARIABLE "=", strlen(VARIABLE) + 1) == 0)
            return *e;
    return NULL;
}

void nm_fault_point(const char *step)
{
    static unsigned passed;
    const char *wanted = getenv(VARIABLE);
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

/* Returns the number in the file. 0: there is no such file. */
static int64_t read_number(const char *path)
{
    FILE *file = path ? fopen(path, "re") : NULL;
    char text[24] = "";

    if (!file)
        return 0;
    if (!fgets(text, sizeof text, file))
        text[0] = '\0';
    (void)fclose(file);
    return strtoll(text, NULL, 10);
}

uint64_t nm_fault_asleep_usec(void)
{
    return (uint64_t)read_number(getenv("NMD_ASLEEP"));
}

int64_t nm_fault_stepped_usec(void)
{
    static const char *path;
    static bool is_known;

    if (!is_known) {
        path = getenv("NMD_STEPPED");
        is_known = true;
    }
    return path ? read_number(path) : 0;
}
#endif
