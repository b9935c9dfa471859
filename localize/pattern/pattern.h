/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The regular expression of a PATTERN resource. Jobs write it for Java, so it matches as in Java or is refused
 * (java-regex.h). */

#include <stdbool.h>

#include "util/macros.h"

struct nm_pattern;

/* Compiles text (UTF-8). -EINVAL with the end of a sentence: the text is not a valid expression, or can't be matched
 * here as in Java. */
int nm_pattern_new(const char *text, struct nm_pattern **ret, char **ret_message);
struct nm_pattern *nm_pattern_free(struct nm_pattern *p);
NM_DEFINE_CLEANUP(struct nm_pattern *, nm_pattern_free)

/* Returns 1 if the expression matches the whole name, and 0 if it doesn't. -ETIMEDOUT: matching takes too much effort.
 * -EILSEQ: the name isn't ASCII, and versions of Java disagree about the pattern. */
int nm_pattern_match(struct nm_pattern *p, const char *name);
