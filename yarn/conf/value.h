/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Converts the text of a property to the value of its field. */

#include "yarn/conf/properties.h"

/* -EINVAL: the text is invalid; -ERANGE: the value is too small or too large. On failure, the field is unchanged. */
int nm_yarn_value_parse(const struct nm_yarn_key *key, const char *text, struct nm_yarn_settings *s);
/* Frees the field's value. */
void nm_yarn_value_done(const struct nm_yarn_key *key, struct nm_yarn_settings *s);

/* Describes the allowed values for people. Returns the buffer or a constant string. */
const char *nm_yarn_value_allowed(const struct nm_yarn_key *key, char *buf, size_t size);
