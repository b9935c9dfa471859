/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * Estimates the memory that a JSON text needs after parsing. The estimate is a fast scan of the bytes, before memory is
 * allocated. One megabyte of "[[],[]," needs fifty megabytes as a tree.
 */

/* Limits that no valid request exceeds: a command may have 16,384 strings, and each environment variable has a name
 * and a value. */
#define NM_JSON_DEPTH_MAX 16u
#define NM_JSON_CONTAINERS_MAX 64u /* arrays and objects */
#define NM_JSON_VALUES_MAX 40000u

struct nm_json_size {
    size_t n_values;     /* values of any kind, including member names */
    size_t n_containers; /* number of arrays and objects, which also count in n_values */
    size_t depth;        /* nesting depth of arrays and objects */
    size_t tree_bytes;   /* lower bound of the parser's memory for the whole text */
};

/* Scans the text, which may be invalid: values before an error are counted too. Stops when a limit is exceeded. */
struct nm_json_size nm_json_scan(const char *text, size_t len);
