/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A property's text, and the field that it stands for. */

#include "yarn/conf/properties.h"

/* -EINVAL: it is no such value; -ERANGE: one that is too small or too large. The field is left as it was then. */
int nm_yarn_value_parse(const struct nm_yarn_key *key, const char *text, struct nm_yarn_settings *s);
/* Frees what the field holds. */
void nm_yarn_value_done(const struct nm_yarn_key *key, struct nm_yarn_settings *s);

/* What it may be, for people: of the buffer, or constant. */
const char *nm_yarn_value_allowed(const struct nm_yarn_key *key, char *buf, size_t size);
