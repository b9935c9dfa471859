/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Values that a cluster's files set for nmd's own keys (nmd.conf(5)), used for the keys that nmd's own files don't set.
 * Some properties of Hadoop have the same meaning as a key of nmd. In addition, each key that controls the node's
 * decisions can be set in the cluster's files by its own name:
 *
 *   nmd.over-allocation.KEY   nmd.queue.KEY   nmd.preemption.KEY
 *
 * Such a name has precedence over Hadoop's property of the same meaning.
 */

#include "agent/status.h"
#include "yarn/conf/conf.h"
#include "yarn/conf/properties.h"

/* Fills s->defaults from s and c, in the form that nm_config_load() takes: the list ends with an entry without a
 * section. nm_config_load() checks keys and values. This function only ensures that both are printable text. */
int nm_yarn_defaults_make(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, char **ret_message);
void nm_yarn_defaults_free(struct nm_config_default *list);
