/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How many descriptors this process has open, and some that the count itself takes: to be compared. Needs cmocka.h
 * before it. */

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Left out is what stays until its owner ends: locks (util/lockfile.h), even if their directory has gone, and the one
 * timer that sd-event has for each clock from its first use. */
static inline bool is_kept(int dir_fd, const char *name)
{
    char target[PATH_MAX] = "";

    return readlinkat(dir_fd, name, target, sizeof target - 1) > 0 &&
           (strstr(target, ".lock") || strcmp(target, "anon_inode:[timerfd]") == 0);
}

static inline unsigned open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    assert_non_null(d);
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        n += !is_kept(dirfd(d), e->d_name);
    (void)closedir(d);
    return n;
}
