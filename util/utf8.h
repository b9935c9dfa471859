/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Checks text for outputs that require UTF-8, such as JSON and protobuf strings. The text may come from any source or
 * may have been truncated. */

#include <stddef.h>

/* Returns the number of bytes of the character at the start of the NUL-terminated s, or 0 if it isn't valid UTF-8.
 * Overlong forms, surrogates and values above U+10FFFF are invalid. */
size_t nm_utf8_size(const char *s);

/* Returns the number of bytes at the start of s that form whole characters. */
size_t nm_utf8_prefix(const char *s);
