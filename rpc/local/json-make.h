/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JSON from values. An object is written as the list of its members, whose values are made on the spot. A value that
 * could not be made, for want of memory, makes its object NULL and releases the other values, and so on outwards: no
 * branch per member is needed. What isn't there is null, everywhere.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct nm_member {
    const char *name;
    json_t *value; /* taken */
};

json_t *nm_make_object(const struct nm_member *m);
#define NM_OBJECT(...) nm_make_object((const struct nm_member[]){__VA_ARGS__, {NULL, NULL}})

/* Appends a value that is taken. Returns the array, or NULL with everything released. */
json_t *nm_make_append(json_t *array, json_t *value);
/* Moves the members of `from` into `o` and releases `from`. Returns o, or NULL with both gone. */
json_t *nm_make_merge(json_t *o, json_t *from);

json_t *nm_make_integer(uint64_t v);
json_t *nm_make_integer_or_null(uint64_t v, bool is_null);
json_t *nm_make_real(double v);
/* As a fraction, as every share is in JSON. */
json_t *nm_make_permille_or_null(uint32_t permille, bool is_null);
/* NULL and "" are null. */
json_t *nm_make_string_or_null(const char *s);
