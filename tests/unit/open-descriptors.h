/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Counts the open descriptors of this process, including those that the count itself takes. Use only the difference of
 * two counts. Include it after cmocka.h. */

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Returns whether a descriptor stays open until the process ends: a lock (util/lockfile.h), even if its directory was
 * removed, or the timer that sd-event keeps for each clock from its first use. Such descriptors are not counted. */
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
