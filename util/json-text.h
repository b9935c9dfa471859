/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The text of a JSON value. The code is a library of its own (libnm-json), so that only programs that use JSON link
 * jansson. */

#include <jansson.h>

/* Returns the whole text, which the caller frees, or NULL if memory ran out. flags: those of jansson, such as
 * JSON_COMPACT. Also returns NULL if j is NULL, so that the caller needn't check the result of json_pack() and similar
 * functions. */
char *nm_json_text(const json_t *j, size_t flags);
