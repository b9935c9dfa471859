/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Names in an untrusted archive: whether they stay within the directory that it is unpacked into, and their character
 * set. */

#include <limits.h>
#include <locale.h>
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

/* ---- character sets -------------------------------------------------------------------------- */

/*
 * Choose the character set in which libarchive returns names. libarchive converts UTF-8 names to the locale's
 * character set, so a zip's names are lost in the locale C, in which every process begins. The result must not depend
 * on the environment of this process. The choice applies to the calling thread only.
 *
 * nm_charset_begin() sets the locale for one archive. A tar's names are read as bytes: in the locale C libarchive can't
 * convert them and leaves them unchanged. A zip's names are read in UTF-8, where libarchive composes a letter and a
 * separate accent into one character if there is one. Returns the previous locale for nm_charset_end().
 */
locale_t nm_charset_begin(bool is_bytes);
void nm_charset_end(locale_t *before);

/* Returns whether the locale is UTF-8. False: this host has no UTF-8 locale. */
bool nm_charset_is_utf8(void);
