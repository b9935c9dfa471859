/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A PATTERN's regular expression. Jobs write them for Java; PCRE2 reads all of it that they have use for. */

#include <stdbool.h>

#include "util/macros.h"

struct nm_pattern;

/* -EINVAL and a sentence's end: it isn't one. */
int nm_pattern_new(const char *text, struct nm_pattern **ret, char **ret_message);
struct nm_pattern *nm_pattern_free(struct nm_pattern *p);
NM_DEFINE_CLEANUP(struct nm_pattern *, nm_pattern_free)

/* 1: it matches all of the name; 0: it doesn't; -ETIMEDOUT: it can't be told with a reasonable effort. */
int nm_pattern_match(struct nm_pattern *p, const char *name);
