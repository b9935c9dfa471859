/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The error contract: every function that can fail returns an int:
 *
 *   0              success
 *   -Exxx           a failure that the caller can't repair: return it, or log it once and continue
 *   NM_<MODULE>_E_* (positive) a named, expected outcome on which the *direct* caller must branch. The number is
 *                   not passed further up.
 *
 * Outputs are called ret_something and are unchanged unless the function returns success. Error codes of other
 * libraries (libcgroup's ECG*, libnl's NLE_*, SQLite's, libmicrohttpd's) are converted to this contract by the code
 * that calls the library. sd-event and sd-bus already return -errno: use the returned value, not errno.
 */

#include <errno.h>
#include <stdbool.h>

#include "util/macros.h"

/* Converts the result of a libc call that returns -1 and sets errno to this contract. */
#define RET_NERRNO(expr) \
    ({ \
        int _r = (int)(expr); \
        _r < 0 ? -errno : _r; \
    })

/*
 * Formats the message for a failure that is shown to a person. *ret_message is a sentence that the caller frees, or
 * NULL if memory ran out; the caller then shows strerror(). ret_message may be NULL. Returns r.
 */
nm_printf(3, 4) int nm_fail(char **ret_message, int r, const char *format, ...);

/* Returns whether errno means that a file system or a system call filter (seccomp) doesn't support a call or one of
 * its flags. Callers with a fallback use the fallback then. */
static inline bool nm_error_is_not_supported(int error)
{
    return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM;
}
