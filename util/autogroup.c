/* SPDX-License-Identifier: Apache-2.0 */

/* See autogroup.h. */

#include "util/autogroup.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/fileio.h"
#include "util/macros.h"

/* The kernel writes "/autogroup-12 nice 0". */
#define TEXT_SIZE 64

static int write_nice(const char *process, int nice)
{
    char path[64], text[16];

    (void)snprintf(path, sizeof path, "/proc/%s/autogroup", process);
    (void)snprintf(text, sizeof text, "%d", nice);
    return nm_write_file_at(AT_FDCWD, path, text);
}

static int read_name(const char *process, char ret[static TEXT_SIZE])
{
    char path[64];
    int r;

    (void)snprintf(path, sizeof path, "/proc/%s/autogroup", process);
    r = nm_read_file_at(AT_FDCWD, path, ret, TEXT_SIZE, NULL);
    if (r >= 0)
        ret[strcspn(ret, " \n")] = '\0';
    return r;
}

int nm_autogroup_set_own_nice(int nice)
{
    return write_nice("self", nice);
}

/* The session's number does not show whether the process is still in the caller's group: setsid() first changes the
 * number, and some time later the group. A process does not come back to the group, so the result of the comparison
 * stays true. The numbers of the sessions are only compared since this is faster. */
int nm_autogroup_set_nice(pid_t pid, int nice)
{
    char process[16], other[TEXT_SIZE], own[TEXT_SIZE];
    int r;

    assert(pid > 0);
    if (getsid(pid) == getsid(0))
        return NM_AUTOGROUP_E_OWN;
    (void)snprintf(process, sizeof process, "%d", pid);
    if ((r = read_name(process, other)) < 0 || (r = read_name("self", own)) < 0)
        return r;
    return nm_streq(other, own) ? NM_AUTOGROUP_E_OWN : write_nice(process, nice);
}
