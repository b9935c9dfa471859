/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Names in an archive, which are anybody's: may they stand in the directory that it is unpacked into? */

#include <limits.h>
#include <stdbool.h>

#define NM_INSIDE_MAX_DEPTH 64 /* Hadoop's and Python's deepest have a dozen */

/* The name without "." and doubled slashes, as a path beneath the directory; "" is the directory itself. -EXDEV: it
 * leads out of it; -ENAMETOOLONG: it is too long or too deep. */
int nm_inside_clean(const char *name, char ret[static PATH_MAX]);

/*
 * Does a symlink at path (a cleaned one) that says target lead to a place inside, whatever other such links there
 * are? Only ".."s at its beginning are allowed, as many as lead up to the top: further on they could climb from
 * wherever another link has led to. This holds as long as no entry is written through a link: then a path's own
 * directories are real ones.
 */
bool nm_inside_link(const char *path, const char *target);
