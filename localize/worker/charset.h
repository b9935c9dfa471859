/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * In which characters libarchive says names. It turns what an archive has in UTF-8 into the locale's, so that in the
 * locale C, in which every process begins, a zip's names are lost. What this process was started with must not matter.
 * Of this thread alone.
 */

#include <locale.h>
#include <stdbool.h>

/*
 * A tar's names are wanted as bytes: in the locale C libarchive can't turn them into anything, and leaves them as they
 * are. A zip's are wanted in UTF-8: where a letter and its accent are two characters libarchive makes one of them, if
 * there is one. What it was before comes back, for nm_charset_end().
 */
locale_t nm_charset_begin(bool is_bytes);
void nm_charset_end(locale_t *before);

/* Otherwise this host has no such locale. */
bool nm_charset_is_utf8(void);
