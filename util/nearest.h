/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The word of several that a mistyped one stands for. */

#include <stddef.h>

/* Returns the nearest word to `given` if it is near enough to be meant, else NULL. */
const char *nm_nearest_word(const char *given, const char *const *words, size_t n);
