/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes a resource's target: the directory TARGET, in which stands the resource under its own name, as a file or
 * unpacked. It is made as TARGET_tmp and renamed, so that a TARGET is whole whenever it is there. It isn't synced:
 * after a crash of the host nobody may rely on what there is.
 */

#include "localize/worker/fetch.h"

/* *ret_bytes is what it takes; *ret_is_listed: it is a directory, and a list of what is in it stands beside it
 * (listing.h). On failure a whole sentence is in *ret_message (freed by the caller), and nothing is left. */
int nm_place(struct nm_fetch *f, const struct nm_resource *res, uint64_t *ret_bytes, bool *ret_is_listed,
             char **ret_message);

/* Removes a target and what an unfinished nm_place() has left of it, and reports its progress. Succeeds if nothing is
 * there. */
int nm_unplace(const char *target, struct nm_report *report, char **ret_message);
