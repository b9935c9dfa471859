/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For tests that need the real kernel: makes a cgroup, which the test must remove. Include it after cmocka.h. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Makes a cgroup in the unified hierarchy. If this process may not make one, skips the test and leaves path empty. */
static inline void make_own_cgroup(char *path, size_t size)
{
    static const char *const mounts[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};

    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        (void)snprintf(path, size, "%s/cgroup.procs", mounts[i]);
        if (access(path, W_OK) < 0)
            continue;
        (void)snprintf(path, size, "%s/nm-test-XXXXXX", mounts[i]);
        if (mkdtemp(path))
            return;
    }
    path[0] = '\0';
    print_message("no cgroup2 mount where a cgroup may be made\n");
    skip();
}
