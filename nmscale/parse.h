/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The ResourceManager's and the NodeManagers' JSON into the model. The text may come from anybody who listens at the
 * address: whatever it is, the answer is 0 or a negative errno with a sentence in *ret_message (freed by the caller).
 *   -EBADMSG  it is no JSON, or not of the shape that this page has
 *   -E2BIG    more than this program takes
 */

#include "nmscale/model.h"

/* /ws/v1/cluster/nodes */
int nm_scale_parse_nodes(const char *text, size_t size, struct nm_scale_node **ret, size_t *ret_n,
                         char **ret_message);

/* /ws/v1/cluster/apps?states=ACCEPTED,RUNNING */
int nm_scale_parse_apps(const char *text, size_t size, struct nm_scale_app **ret, size_t *ret_n,
                        char **ret_message);

/* /ws/v1/cluster/metrics */
int nm_scale_parse_demand(const char *text, size_t size, struct nm_scale_demand *ret, char **ret_message);

/* /ws/v1/cluster/scheduler: what waits in partitions that have a name; nothing of a scheduler that knows none. */
int nm_scale_parse_waiting(const char *text, size_t size, struct nm_scale_waiting **ret, size_t *ret_n,
                           char **ret_message);

/* /ws/v1/cluster/apps/ID/appattempts: the ids of the attempts, and the nodes of their masters. */
struct nm_scale_attempts {
    char **ids, **nodes;
    size_t n_ids, n_nodes;
};
int nm_scale_parse_attempts(const char *text, size_t size, struct nm_scale_attempts *ret, char **ret_message);
void nm_scale_attempts_done(struct nm_scale_attempts *a);

/* .../appattempts/ID/containers: the nodes where they are, one for each container. */
int nm_scale_parse_containers(const char *text, size_t size, char ***ret, size_t *ret_n, char **ret_message);

/* /ws/v1/node/apps of a NodeManager: the applications that it still keeps something for. */
int nm_scale_parse_node_apps(const char *text, size_t size, char ***ret, size_t *ret_n, char **ret_message);
