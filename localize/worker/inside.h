/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Names in an archive, which are anybody's: may they stand in the directory that it is unpacked into? */

#include <limits.h>
#include <stdbool.h>

#define NM_INSIDE_MAX_DEPTH 64 /* Hadoop's and Python's deepest have a dozen */

/*
 * The name as a path beneath the directory, as tar and Java have it: without ".", doubled slashes and those that it
 * begins with, and with what ".." takes back taken back; "" is the directory itself. It names no links: whoever goes
 * by the path must follow none. -EXDEV: it leads out of the directory; -ENAMETOOLONG: it is too long or too deep.
 */
int nm_inside_clean(const char *name, char ret[static PATH_MAX]);

/* Does a symlink that says this lead further down from where it is, whatever other links there are? */
bool nm_inside_is_plain(const char *target);
