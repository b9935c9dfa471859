/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A regular expression for names of files, such as that of a PATTERN resource. Jobs write the expression for Java. It
 * therefore matches the same names as in Java, or is refused (java-regex.h). */

#include <stdbool.h>

#include "util/macros.h"

struct nm_pattern;

/* Compiles text (UTF-8). -EINVAL with the end of a sentence: the text isn't a valid expression, or this code can't
 * match it in the same way as Java. */
int nm_pattern_new(const char *text, struct nm_pattern **ret, char **ret_message);
/* Compiles an expression that matches if it is found anywhere in the name, as with Matcher.find(). */
int nm_pattern_new_find(const char *text, struct nm_pattern **ret, char **ret_message);
struct nm_pattern *nm_pattern_free(struct nm_pattern *p);
NM_DEFINE_CLEANUP(struct nm_pattern *, nm_pattern_free)

/* Returns 1 if the expression matches the name, and 0 if it doesn't. -ETIMEDOUT: matching needs too many steps.
 * -EILSEQ: the name isn't ASCII, and versions of Java disagree about the expression. */
int nm_pattern_match(struct nm_pattern *p, const char *name);
