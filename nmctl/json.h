/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Access to nmd's answers by dotted path ("node.capacity.memory_bytes"). A member that is missing, null or of another
 * type gives "", 0 or false. nmctl therefore shows less for an older or newer nmd instead of failing.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

json_t *nm_json_at(const json_t *j, const char *path); /* borrowed; NULL if missing */
const char *nm_json_str(const json_t *j, const char *path);
uint64_t nm_json_u64(const json_t *j, const char *path);
double nm_json_num(const json_t *j, const char *path);
bool nm_json_bool(const json_t *j, const char *path);
bool nm_json_has(const json_t *j, const char *path); /* present and not null */
