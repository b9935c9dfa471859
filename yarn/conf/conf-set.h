/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Internal to the conf*.c files: adds the properties that were read to the set. */

#include "yarn/conf/conf.h"

/* Larger files and values are refused as mistakes. */
#define NM_YARN_CONF_FILE_MAX (1u << 20)
#define NM_YARN_CONF_NAME_MAX 512u
#define NM_YARN_CONF_VALUE_MAX (64u << 10)
#define NM_YARN_CONF_PROPERTIES_MAX 4096u
#define NM_YARN_CONF_INCLUDES_MAX 32u /* limit for all files together */
#define NM_YARN_CONF_INCLUDE_DEPTH 8u

/* Returns a copy of the file's name that lives as long as the set. NULL: no memory. */
const char *nm_yarn_conf_intern_file(struct nm_yarn_conf *c, const char *file);
/* Sets a property, unless it is final. -E2BIG: too many properties. */
int nm_yarn_conf_put(struct nm_yarn_conf *c, const char *file, const char *name, const char *value, bool final);
/* Counts one more include. Returns false if the files have too many includes. */
bool nm_yarn_conf_count_include(struct nm_yarn_conf *c);
