/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The one error contract
 * ----------------------
 * Every function that can fail returns an int:
 *
 *    0              done;
 *   -Exxx           a failure that the caller can't repair: forward it, or log it once and go on;
 *   NM_<MODULE>_E_* (positive) a named, expected outcome that the *direct* caller must branch on. It never
 *                   travels further up as a number.
 *
 * Outputs are called ret_something and are untouched unless the function says success. Codes of other
 * libraries (libcgroup's ECG*, libnl's NLE_*, SQLite's, libmicrohttpd's) are turned into this contract where
 * they are called and nowhere else. sd-event and sd-bus already return -errno: use that value, never errno.
 */

#include <errno.h>
#include <stdbool.h>

#include "util/macros.h"

/* The result of a libc call that returns -1 and sets errno, as this contract has it. */
#define RET_NERRNO(expr) \
    ({ \
        int _r = (int)(expr); \
        _r < 0 ? -errno : _r; \
    })

/*
 * For failures that a person is told of: *ret_message = the sentence, which the caller frees, unless
 * ret_message is NULL. NULL where there is no memory for it: whoever shows it has strerror() then.
 * Returns r.
 */
nm_printf(3, 4) int nm_fail(char **ret_message, int r, const char *format, ...);

/* Whether errno tells that a file system doesn't have a call or a flag of it, or that what filters calls to the kernel
 * doesn't let it through: whoever can do without it goes on so. */
static inline bool nm_error_is_not_supported(int error)
{
    return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM;
}
