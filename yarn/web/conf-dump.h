/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The answers of /conf in the formats of Hadoop 3.4.2: the properties that nmd has read, with their values after
 * substitutions. A property that neither a file nor Hadoop's defaults set is left out, as in Hadoop. Values of
 * sensitive properties are replaced (hadoop.security.sensitive-config-keys). The code is pure.
 */

#include <jansson.h>

#include "yarn/conf/settings.h"

/* Returns {"property":{...}} for the property of this name, or {"properties":[...]} if the name is NULL or "".
 * is_xml: the answer will be converted to XML, for which Hadoop uses another replacement. Returns a new reference.
 * -ENOENT: nmd doesn't know the property, or leaves it out; -ENOMEM. */
int nm_yarn_conf_dump(const struct nm_yarn_settings *s, const char *name, bool is_xml, json_t **ret);
/* Converts such an answer to XML. The caller frees the text. NULL: no memory. */
char *nm_yarn_conf_dump_xml(const json_t *dump);
