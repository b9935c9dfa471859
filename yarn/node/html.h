/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Writes parts of pages. Texts may be any bytes. */

#include <stdio.h>

/* Writes text for HTML or XML, in an element or in an attribute. Replaces bytes that aren't UTF-8. */
void nm_yarn_put_html(FILE *f, const char *s);
/* Writes a segment of a path, in which all special characters are escaped. */
void nm_yarn_put_segment(FILE *f, const char *s);
/* Closes a stream of open_memstream() and returns its text, which the caller frees. NULL: no memory. */
char *nm_yarn_end_text(FILE *f, char **text);
