/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Internal to the conf*.c files: adds properties from files to the set. */

#include "yarn/conf/conf.h"

/* A larger file, or a longer value, is refused as a mistake. */
#define NM_YARN_CONF_FILE_MAX (1u << 20)
#define NM_YARN_CONF_NAME_MAX 512u
#define NM_YARN_CONF_VALUE_MAX (64u << 10)
#define NM_YARN_CONF_PROPERTIES_MAX 4096u
#define NM_YARN_CONF_INCLUDES_MAX 32u /* limit for all files together */
#define NM_YARN_CONF_INCLUDE_DEPTH 8u

/* Returns a copy of the file's name. The set owns the copy. NULL: no memory. */
const char *nm_yarn_conf_intern_file(struct nm_yarn_conf *c, const char *file);
/* Sets a property, unless it is final. -E2BIG: too many properties. */
int nm_yarn_conf_put(struct nm_yarn_conf *c, const char *file, const char *name, const char *value, bool final);
/* Counts one more include. Returns false if the limit of includes is exceeded. */
bool nm_yarn_conf_count_include(struct nm_yarn_conf *c);
