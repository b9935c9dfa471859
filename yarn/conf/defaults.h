/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a cluster's files say of nmd's own keys (nmd.conf(5)), for where nmd's own files don't. Some properties of
 * Hadoop's mean the same as such a key. And each key of how the node decides can be set there by its own name:
 *
 *   nmd.over-allocation.KEY   nmd.queue.KEY   nmd.preemption.KEY
 *
 * This goes before the property of Hadoop's that means the same.
 */

#include "agent/status.h"
#include "yarn/conf/conf.h"
#include "yarn/conf/properties.h"

/* s->defaults, of what is in s and in c: nm_config_load()'s, whose end is without a section. Whether there is such a
 * key and such a value is said there; here both are made sure to be text that can be shown. */
int nm_yarn_defaults_make(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, char **ret_message);
void nm_yarn_defaults_free(struct nm_config_default *list);
