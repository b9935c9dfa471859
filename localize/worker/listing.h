/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A list of what is in an unpacked archive or a copied directory. It stands beside the resource, in the same target, so
 * that a later look tells whether somebody else has removed or cut something since: a cleaner of temporary files takes
 * what was not read for some days, and leaves the rest. What was added doesn't count, since a user's containers may
 * write into what is theirs (Python does, __pycache__).
 */

#include <stdint.h>

#include "util/macros.h"

#define NM_LISTING_NAME ".nmd-list"
/* A list isn't longer than this: half a million of usual names. What else there is isn't looked at later. */
#define NM_LISTING_MAX_BYTES (64U << 20)
/* A container waits for a check, so that it takes no longer, however large what is checked. */
#define NM_LISTING_CHECK_USEC (50 * NM_USEC_PER_MSEC)

enum {
    NM_LISTING_E_MADE = 1, /* nm_listing_make(): there is one */
    NM_LISTING_E_BROKEN,   /* nm_listing_check(): something isn't there any more */
};

struct nm_listing_params {
    uint64_t most_bytes; /* that a file may have here */
    void (*progress)(void *userdata);
    void *userdata;
};

/* Writes a list of all that is in the directory `name` of dir_fd. Returns 0, and no list, if it is no directory. */
int nm_listing_make(int dir_fd, const char *name, const struct nm_listing_params *p);

/* Looks for what the list in the target names: is it there, and as large as it was? First it looks at all directories
 * and at what is in those that have changed, then, for some milliseconds, at the sizes of the rest. Where there isn't
 * time for all before the deadline (by nm_now_usec()), each check begins at another place. *ret_message (the caller's
 * to free) says what isn't there. -errno: it can't be looked at. */
int nm_listing_check(const char *target, uint64_t deadline_usec, char **ret_message);
