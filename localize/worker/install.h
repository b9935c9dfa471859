/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A resource's target: the directory TARGET, which contains the resource under its own name, as a file or unpacked. The
 * directory is created as TARGET_tmp and then renamed, so an existing TARGET is always complete. The target isn't
 * synced, so it may be incomplete after a crash of the host.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/macros.h"

struct nm_fetch;
struct nm_worker_report;
struct nm_work_resource;

/* Creates the target. *ret_bytes is the resource's size on the disk. *ret_is_listed: the resource is a directory, and a
 * list of its contents exists beside it. On failure *ret_message is a whole sentence (freed by the caller), and no
 * files are left. */
int nm_install(struct nm_fetch *f, const struct nm_work_resource *res, uint64_t *ret_bytes, bool *ret_is_listed,
               char **ret_message);

/* Removes a target and the files of an unfinished nm_install(), and reports the progress of the removal. Succeeds if
 * neither exists. */
int nm_uninstall(const char *target, struct nm_worker_report *report, char **ret_message);

/* ---- listing.c ------------------------------------------------------------------------------- */

/*
 * Lists of the contents of unpacked archives and copied directories. A list is beside its resource, in the same target.
 * With the list, a later check detects that files were removed or truncated: a program that cleans up temporary files
 * removes files that were not read for some days, and preserves the other files. Added files don't count, because a
 * user's containers may write into the user's resources (Python writes __pycache__).
 */

#define NM_LISTING_NAME ".nmd-list"
/* Limit on the size of a list, enough for half a million usual names. Entries beyond this limit aren't checked. */
#define NM_LISTING_MAX_BYTES (64U << 20)
/* Time limit for a check, whatever the size of the resource is, because a container waits for the check. */
#define NM_LISTING_CHECK_USEC (50 * NM_USEC_PER_MSEC)

enum {
    NM_LISTING_E_MADE = 1, /* nm_listing_make(): a list was written */
    NM_LISTING_E_BROKEN,   /* nm_listing_check(): a file is missing or truncated */
};

struct nm_listing_params {
    uint64_t most_bytes; /* limit on the size of a file */
    void (*progress)(void *userdata);
    void *userdata;
};

/* Writes a list of the contents of the directory `name` in dir_fd. If `name` isn't a directory, returns 0 and writes no
 * list. */
int nm_listing_make(int dir_fd, const char *name, const struct nm_listing_params *p);

/* Checks whether all files of the target's list exist and have their former sizes. The check first covers all
 * directories and the contents of changed directories. For some milliseconds it then covers the sizes of the remaining
 * files. If the time until the deadline (by nm_now_usec()) is too short for all files, each check begins at another
 * position. *ret_message (freed by the caller) names the missing file. -errno: the target can't be checked. */
int nm_listing_check(const char *target, uint64_t deadline_usec, char **ret_message);
