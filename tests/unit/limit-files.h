/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Include it after cmocka.h. */

#include <signal.h>
#include <sys/resource.h>

/* Limits the size of files to `bytes`. Larger writes of this process then fail with EFBIG, and nmd treats a write to
 * its journal as on a full disk. RLIM_INFINITY ends the limit. This needs no root privileges, because only the soft
 * limit changes. */
static inline void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}
