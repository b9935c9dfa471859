/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The settings of this node in the cluster's configuration. The properties are read from the set of conf.h, according
 * to the table in properties.h. */

#include <jansson.h>

#include "yarn/conf/conf.h"
#include "yarn/conf/properties.h"
#include "yarn/conf/rules.h"

/* Reads the files of a directory. Refuses invalid values, and values that request a function that nmd doesn't have. For
 * each refusal, *ret_message has a line that names the file, the property, the value and what is allowed. */
int nm_yarn_settings_load(const char *dir, nm_yarn_warn_t warn, void *userdata, struct nm_yarn_settings **ret,
                          char **ret_message);
/* Reads the settings as nm_yarn_settings_load() does, but for display only: if values are refused, *ret is still set,
 * with defaults in place of the refused values. Returns 0 or the error of the first refusal. *ret is NULL only if no
 * file could be read. */
int nm_yarn_settings_examine(const char *dir, nm_yarn_warn_t warn, void *userdata, struct nm_yarn_settings **ret,
                             char **ret_message);
struct nm_yarn_settings *nm_yarn_settings_free(struct nm_yarn_settings *s);
NM_DEFINE_CLEANUP(struct nm_yarn_settings *, nm_yarn_settings_free)

/* nm_yarn_settings_new_conf() makes a set with the tables' defaults, into which the caller can read files.
 * nm_yarn_settings_read() converts a set to settings. */
int nm_yarn_settings_new_conf(struct nm_yarn_conf **ret);
int nm_yarn_settings_read(const struct nm_yarn_conf *c, nm_yarn_warn_t warn, void *userdata,
                          struct nm_yarn_settings **ret, char **ret_message);

/* Returns whether the auxiliary service runs in the process of Java (launch/aux-host.h). */
bool nm_yarn_aux_is_hosted(const struct nm_yarn_settings *s, const char *name);

/* Returns how long to wait for the answer to a heartbeat, of the node or of a master. If there are several
 * ResourceManagers, the one that doesn't answer may hang, or its host may be off, while another one is active. The
 * ResourceManager recognizes a heartbeat that is sent again. UINT64_MAX: no limit. */
uint64_t nm_yarn_heartbeat_timeout_usec(const struct nm_yarn_settings *s);

/* Returns the file that sets a property of the table, or NULL if the value is the default. */
const char *nm_yarn_settings_file(const struct nm_yarn_settings *s, const char *name);

/* Returns an array with one object for each key, with value, default, source and meaning. `nmctl config` shows this
 * array. */
json_t *nm_yarn_settings_to_json(const struct nm_yarn_settings *s);
/* Returns the same array without the values of container-executor.cfg. It begins with nm_yarn_keys. */
json_t *nm_yarn_settings_properties(const struct nm_yarn_settings *s);
