/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Remembers which index files have been read completely and had the right checksum. A file is identified by its device,
 * inode, size and times, so a modified file counts as a new one. The number of files is fixed; newer files replace
 * older files. Several threads may use the table.
 */

#include <stdbool.h>
#include <sys/stat.h>

#include "util/macros.h"

#define NM_SHUFFLE_CHECKED_MAX 8192u

struct nm_shuffle_checked;

int nm_shuffle_checked_new(struct nm_shuffle_checked **ret);
struct nm_shuffle_checked *nm_shuffle_checked_free(struct nm_shuffle_checked *c);

/* Return whether a file has been checked, and remember a checked file. With c NULL no file is known or remembered. */
bool nm_shuffle_checked_has(struct nm_shuffle_checked *c, const struct stat *st);
void nm_shuffle_checked_add(struct nm_shuffle_checked *c, const struct stat *st);
