/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a cluster's configuration says to this node: conf.h's properties, read by the tables of properties.h. */

#include <jansson.h>

#include "yarn/conf/conf.h"
#include "yarn/conf/properties.h"
#include "yarn/conf/rules.h"

/* Reads the files of a directory. What is no value for its property, and what the node can't do, is refused with a
 * sentence that names file, property, value and what is allowed: *ret_message has a line for each of them. */
int nm_yarn_settings_load(const char *dir, nm_yarn_warn_t warn, void *userdata, struct nm_yarn_settings **ret,
                          char **ret_message);
/* The same for who only looks: with refusals there are settings too, in which what was refused has its default. 0, or
 * the refusals' first error: then *ret is NULL only if no file could be read. */
int nm_yarn_settings_examine(const char *dir, nm_yarn_warn_t warn, void *userdata, struct nm_yarn_settings **ret,
                             char **ret_message);
struct nm_yarn_settings *nm_yarn_settings_free(struct nm_yarn_settings *s);
NM_DEFINE_CLEANUP(struct nm_yarn_settings *, nm_yarn_settings_free)

/* A set with the tables' defaults, into which files can be read; and what is in it, as settings. */
int nm_yarn_settings_new_conf(struct nm_yarn_conf **ret);
int nm_yarn_settings_read(const struct nm_yarn_conf *c, nm_yarn_warn_t warn, void *userdata,
                          struct nm_yarn_settings **ret, char **ret_message);

/* Every key with value, default, source and meaning: what `nmctl config` shows, an array of objects. */
json_t *nm_yarn_settings_to_json(const struct nm_yarn_settings *s);
