/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * What a JSON text would become, found out by one cheap look over its bytes before anything is
 * allocated for it: a megabyte of "[[],[]," is a tree of fifty.
 */

/* No request needs more: a command may have 16,384 strings, and a variable is a name and a value. */
#define NM_JSON_DEPTH_MAX 16u
#define NM_JSON_CONTAINERS_MAX 64u /* arrays and objects */
#define NM_JSON_VALUES_MAX 40000u

struct nm_json_size {
    size_t n_values;     /* of any kind, the names of members included */
    size_t n_containers; /* of these, arrays and objects */
    size_t depth;        /* of arrays and objects in each other */
    size_t tree_bytes;   /* at least what the parser takes for all of it */
};

/* The text need not be valid: what a parser would refuse half-way is counted all the same. Ends as
 * soon as there is more of something than is allowed. */
struct nm_json_size nm_json_scan(const char *text, size_t len);
