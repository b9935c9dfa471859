/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A PATTERN's regular expression. Jobs write them for Java; they match as there, or are refused (java-regex.h). */

#include <stdbool.h>

#include "util/macros.h"

struct nm_pattern;

/* text is UTF-8. -EINVAL and a sentence's end: it isn't one, or none that can be matched here. */
int nm_pattern_new(const char *text, struct nm_pattern **ret, char **ret_message);
struct nm_pattern *nm_pattern_free(struct nm_pattern *p);
NM_DEFINE_CLEANUP(struct nm_pattern *, nm_pattern_free)

/* 1: it matches all of the name; 0: it doesn't; -ETIMEDOUT: it can't be told with a reasonable effort; -EILSEQ: the
 * name isn't ASCII, and Java's versions disagree about what is in the pattern. */
int nm_pattern_match(struct nm_pattern *p, const char *name);
