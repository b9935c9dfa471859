/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chooses the character set in which libarchive returns names. libarchive converts UTF-8 names to the locale's
 * character set, so a zip's names are lost in the locale C, in which every process begins. The result must not depend
 * on the environment of this process. The choice applies to the calling thread only.
 */

#include <locale.h>
#include <stdbool.h>

/*
 * Sets the locale for one archive. A tar's names are read as bytes: in the locale C libarchive can't convert them and
 * leaves them unchanged. A zip's names are read in UTF-8, where libarchive composes a letter and a separate accent into
 * one character if there is one. Returns the previous locale for nm_charset_end().
 */
locale_t nm_charset_begin(bool is_bytes);
void nm_charset_end(locale_t *before);

/* Returns whether the locale is UTF-8. False: this host has no UTF-8 locale. */
bool nm_charset_is_utf8(void);
