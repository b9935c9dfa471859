/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Text that goes where only UTF-8 may: JSON, protobuf strings. It may come from anywhere, or have been cut short. */

#include <stddef.h>

/* Bytes of the character at the front of s, which ends with a NUL; 0: it isn't one. Overlong forms, surrogates and what
 * lies beyond U+10FFFF aren't. */
size_t nm_utf8_size(const char *s);

/* Bytes at the front of s that are whole characters. */
size_t nm_utf8_prefix(const char *s);
