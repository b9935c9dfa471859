/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Names in an untrusted archive. The functions check whether a name stays inside the directory into which the archive
 * is unpacked, and select the character set of names. */

#include <limits.h>
#include <locale.h>
#include <stdbool.h>

#define NM_ENTRY_NAME_MAX_DEPTH 64 /* the deepest archives of Hadoop and Python have a dozen levels */

/*
 * Returns the name as a path below the directory, as tar and Java interpret it: without "." and without doubled or
 * leading slashes, and with ".." resolved. "" is the directory itself. Symbolic links aren't resolved, so a caller that
 * uses the path must not follow links. -EXDEV: the path leads out of the directory. -ENAMETOOLONG: the path is too long
 * or too deep.
 */
int nm_entry_name_normalize(const char *name, char ret[static PATH_MAX]);

/* Returns whether a symlink with this target always leads further down from its position, whatever other links
 * exist. */
bool nm_entry_link_is_safe(const char *target);

/* ---- character sets -------------------------------------------------------------------------- */

/*
 * Select the character set in which libarchive returns names. libarchive converts UTF-8 names to the locale's character
 * set. In the locale C, in which every process starts, the names of a zip would be lost. The result must not depend on
 * the environment of this process. The selection applies only to the calling thread.
 *
 * nm_charset_begin() sets the locale for one archive. The names of a tar are read as bytes: in the locale C libarchive
 * can't convert them and leaves them unchanged. The names of a zip are read in UTF-8. libarchive then composes a letter
 * and a separate accent into one character, if such a character exists. Returns the previous locale for
 * nm_charset_end().
 */
locale_t nm_charset_begin(bool is_bytes);
void nm_charset_end(locale_t *before);

/* Returns whether the locale is UTF-8. False: this host has no UTF-8 locale. */
bool nm_charset_is_utf8(void);
