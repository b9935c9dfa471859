/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the word in a list that a user probably meant by a mistyped word. */

#include <stddef.h>

/* Returns the word that is most similar to `given`, or NULL if no word is similar enough. */
const char *nm_nearest_word(const char *given, const char *const *words, size_t n);
