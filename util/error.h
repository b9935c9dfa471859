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
 *
 * This header also has the messages that accompany errors: one sentence, several refusals, and lines on stderr.
 */

#include <errno.h>
#include <stdarg.h>
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

/* Return the formatted text, which the caller frees, or NULL if memory ran out. asprintf() of the C library leaves the
 * string undefined then. */
nm_printf(1, 2) char *nm_strdup_printf(const char *format, ...);
nm_printf(1, 0) char *nm_strdup_vprintf(const char *format, va_list ap);

/* ---- refusals -------------------------------------------------------------------------------- */

/*
 * Collects all errors of a series of checks, instead of only the first error. Each error is one sentence on one line. A
 * struct initialized with {} has no errors.
 */

struct nm_refusals {
    char *text; /* sentences separated by newlines; NULL: no sentences were added */
    int error;  /* error of the first failed check */
};

/* Adds the result r of a check and its message, which may be NULL or have several lines, and takes the message over. r
 * >= 0 means success, and the message isn't added. A sentence that is already present isn't added again. Returns 0 or
 * -ENOMEM. */
int nm_refusals_add(struct nm_refusals *all, int r, char *message);
/* Returns the first error, with all sentences in *ret_message, or 0. Leaves `all` empty. */
int nm_refusals_take(struct nm_refusals *all, char **ret_message);
void nm_refusals_done(struct nm_refusals *all);

/* ---- diagnostics ----------------------------------------------------------------------------- */

/* Prints a line on stderr that begins with the program's name, for programs of the command line. */
nm_printf(1, 2) void nm_diag(const char *format, ...);

/* Prints the message and returns -EINVAL, so that an option parser can return the result. */
nm_printf(1, 2) int nm_usage_error(const char *format, ...);
