/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names of JMX beans, such as "Hadoop:service=NodeManager,name=JvmMetrics", and patterns for them, as the class
 * ObjectName of Java defines them. In a pattern, the domain and the values may contain '*' (any text) and '?' (any
 * character), and the property "*" stands for any number of further properties. The code is pure.
 */

#include <stdbool.h>

/* Returns whether the text is a name or a pattern. A text with more than 32 properties is neither. */
bool nm_yarn_object_name_is_valid(const char *text);
/* Returns whether the name of a bean matches a valid pattern. The order of properties doesn't matter. */
bool nm_yarn_object_name_matches(const char *pattern, const char *name);
