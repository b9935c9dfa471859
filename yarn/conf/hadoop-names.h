/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Returns true if Hadoop itself defines this property "yarn.*" in any of the releases 3.3, 3.4 and 3.5. */

#include <stdbool.h>

bool nm_yarn_is_hadoop_name(const char *name);
