/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Construction of JSON. An object is written as the list of its members, with an expression for each value. If a value
 * couldn't be allocated, its object becomes NULL, and the other values are released. The same then happens to all
 * enclosing objects. Callers therefore need to check only the final result. Missing values are null.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct nm_member {
    const char *name;
    json_t *value; /* the reference is taken over */
};

json_t *nm_make_object(const struct nm_member *m);
#define NM_OBJECT(...) nm_make_object((const struct nm_member[]){__VA_ARGS__, {NULL, NULL}})

/* Appends a value and takes it over. Returns the array, or NULL after releasing both. */
json_t *nm_make_append(json_t *array, json_t *value);
/* Moves the members of `from` into `o` and releases `from`. Returns o, or NULL after releasing both. */
json_t *nm_make_merge(json_t *o, json_t *from);

json_t *nm_make_integer(uint64_t v);
json_t *nm_make_integer_or_null(uint64_t v, bool is_null);
json_t *nm_make_real(double v);
/* Returns the permille value as a fraction, the format of all shares in JSON. */
json_t *nm_make_permille_or_null(uint32_t permille, bool is_null);
/* Returns a JSON string from bytes that may be invalid UTF-8. */
json_t *nm_make_string(const char *s);
/* Does the same, and returns null for NULL and "". */
json_t *nm_make_string_or_null(const char *s);
