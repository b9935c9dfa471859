/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which index files have been read as a whole and had the right checksum. A file is known by its device, inode, size
 * and times: one that was written since is another one. There is room for a fixed number; what was checked last stays.
 * May be used by several threads.
 */

#include <stdbool.h>
#include <sys/stat.h>

#include "util/macros.h"

#define NM_SHUFFLE_CHECKED_MAX 8192u

struct nm_shuffle_checked;

int nm_shuffle_checked_new(struct nm_shuffle_checked **ret);
struct nm_shuffle_checked *nm_shuffle_checked_free(struct nm_shuffle_checked *c);

/* c may be NULL: nothing is known, and nothing is remembered. */
bool nm_shuffle_checked_has(struct nm_shuffle_checked *c, const struct stat *st);
void nm_shuffle_checked_add(struct nm_shuffle_checked *c, const struct stat *st);
