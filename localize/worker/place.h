/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes a resource's target: the directory TARGET, which contains the resource under its own name, as a file or
 * unpacked. The directory is made as TARGET_tmp and renamed, so an existing TARGET is always whole. The target isn't
 * synced, so its contents can't be relied on after a crash of the host.
 */

#include "localize/worker/fetch.h"

/* *ret_bytes is the resource's size on the disk. *ret_is_listed: the resource is a directory, and a list of its
 * contents stands beside it (listing.h). On failure a whole sentence is in *ret_message (freed by the caller), and no
 * files are left. */
int nm_place(struct nm_fetch *f, const struct nm_resource *res, uint64_t *ret_bytes, bool *ret_is_listed,
             char **ret_message);

/* Removes a target and the remains of an unfinished nm_place(), and reports its progress. Succeeds if neither
 * exists. */
int nm_unplace(const char *target, struct nm_report *report, char **ret_message);
