/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Checks whether the names in an untrusted archive stay within the directory that it is unpacked into. */

#include <limits.h>
#include <stdbool.h>

#define NM_INSIDE_MAX_DEPTH 64 /* the deepest archives of Hadoop and Python have a dozen levels */

/*
 * Returns the name as a path beneath the directory, as tar and Java read it: without ".", doubled and leading slashes,
 * and with ".." resolved. "" is the directory itself. Links are not resolved: a caller that uses the path must not
 * follow links. -EXDEV: the path leads out of the directory. -ENAMETOOLONG: the path is too long or too deep.
 */
int nm_inside_clean(const char *name, char ret[static PATH_MAX]);

/* Returns whether a symlink with this target always leads further down from its place, whatever other links exist. */
bool nm_inside_is_plain(const char *target);
