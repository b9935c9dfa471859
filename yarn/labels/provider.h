/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A provider of the node's labels or attributes, as Hadoop calls it: a property of the cluster's files ("config"), or a
 * script of the operator ("script"). Both are read at an interval. The script runs as the health script does
 * (agent/admin-script.h), also as nmd's own user. A child process reads the files.
 *
 * If a set can't be read, the provider keeps the former set and reports the reason. A script that times out, that ends
 * with another status than 0, that prints too much or that prints an invalid line has no set. Hadoop's NodeManager
 * begins with an empty set if the first run fails, which removes the labels that the ResourceManager knows. Here there
 * is no set until the first success, and until then the node reports no labels.
 */

#include <systemd/sd-event.h>

#include "yarn/conf/settings.h"
#include "yarn/labels/descriptors.h"

struct nm_yarn_provider;

struct nm_yarn_provider_params {
    sd_event *event;
    enum nm_yarn_descriptor_kind kind;
    const struct nm_yarn_settings *settings; /* if it has no `dir`, the cluster's files aren't read again */
    /* Called from the event loop if the set or the trouble has changed, and when the first run has ended. */
    void (*on_change)(void *userdata);
    void *userdata;
};

/* Returns whether the cluster's files name a provider. Without one, only the ResourceManager knows the labels. */
bool nm_yarn_provider_is_wanted(const struct nm_yarn_provider_settings *s);
/* Returns the settings of the provider of labels or of attributes. */
const struct nm_yarn_provider_settings *nm_yarn_provider_settings_of(enum nm_yarn_descriptor_kind kind,
                                                                     const struct nm_yarn_settings *all);
/* Checks the settings without access to the script: the provider's kind, the interval and the configured set. On
 * failure, *ret_message is a sentence with the property, its file and its value. */
int nm_yarn_provider_check_files(enum nm_yarn_descriptor_kind kind, const struct nm_yarn_settings *all,
                                 char **ret_message);
/* Also checks whether the script can be run. */
int nm_yarn_provider_check(enum nm_yarn_descriptor_kind kind, const struct nm_yarn_settings *all, char **ret_message);
/* Checks the settings and starts the provider. A configured set is known at once. */
int nm_yarn_provider_new(const struct nm_yarn_provider_params *params, struct nm_yarn_provider **ret,
                         char **ret_message);
struct nm_yarn_provider *nm_yarn_provider_free(struct nm_yarn_provider *p);
NM_DEFINE_CLEANUP(struct nm_yarn_provider *, nm_yarn_provider_free)

/* Returns the current set; NULL: no set is known yet. The result is valid until control returns to the event loop. */
const struct nm_yarn_descriptors *nm_yarn_provider_get(const struct nm_yarn_provider *p);
/* Returns true until the first run has ended. */
bool nm_yarn_provider_is_waiting(const struct nm_yarn_provider *p);
/* Returns why the newest run has no set; "" if it has one. The text is printable. */
const char *nm_yarn_provider_trouble(const struct nm_yarn_provider *p);
/* Returns "config" or "script". */
const char *nm_yarn_provider_name(const struct nm_yarn_provider *p);
