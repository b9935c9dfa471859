/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How many descriptors this process has open, and some that the count itself takes: to be compared. Needs cmocka.h
 * before it. */

#include <dirent.h>

static inline unsigned open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    (void)closedir(d);
    return n;
}
